/** W1 on a hub with a long history, alone and beside very many clients that wait or read lists. The tasks that they wait for do
 *  not end meanwhile: no instance has the version. */
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { quantile } from '../figures.js';
import { fillStore } from '../lists/fill-store.js';
import { LIST_PATHS } from '../lists/list-cases.js';
import { HttpConnection } from '../load/http-connection.js';
import { runLoad } from '../load/load.js';
import { usesOf } from '../machine.js';
import { PollClients } from '../polls/poll-clients.js';
import { quiet } from '../quiet.js';
import { type RunningHub, startHub } from '../subjects/hub.js';
import { slotsAt } from '../subjects/slots.js';
import type { ReadyWorkload, Run, Workload, WorkloadOptions } from '../workload.js';

const ENDED = 1_000_000;
const POLLS = 10_000;
const TASKS = 20_000;
const SLOTS = 16;
const CONNECTIONS = 64;
const LOAD_LIMIT_MS = 300_000;
/** Clients that page through lists. */
const LIST_EVERY_MS = 100;
const LIST_LIMIT_MS = 50;

export const w6: Workload = {
  name: 'w6',
  what: 'w1 on a store of 1,000,000 ended tasks, beside 10,000 long polls and ten lists with filters a second',
  targets: [
    { figure: 'tasks beside polls and lists', is: 'at least', value: 0.8, times: 'tasks alone' },
    { figure: 'list meanwhile, median', is: 'at most', value: LIST_LIMIT_MS },
  ],
  prepare,
};

async function prepare(options: WorkloadOptions): Promise<ReadyWorkload> {
  const { folder, scale, seed, say } = options;
  const waiting = Math.ceil(POLLS * scale);
  const file = join(folder, 'grown.sqlite');
  say(`w6: writing ${Math.ceil(ENDED * scale)} tasks`);
  const db = fillStore(file, { ended: Math.ceil(ENDED * scale), waiting, running: 0 }, seed);
  const paths = db
    .prepare<[], { id: string; type: string }>("SELECT id, type FROM task WHERE status = 'WAITING'")
    .all()
    .map(({ id, type }) => {
      const kind = type.toLowerCase().replaceAll('_', '-');
      return `/api/2.0/workbench/task/${kind}/${id}/result?timeout=600`;
    });
  db.close();
  return {
    measure: async (run) => {
      mkdirSync(join(run, 'hub-data'));
      copyFileSync(file, join(run, 'hub-data', 'hub.sqlite'));
      const running = await startHub({ folder: run, slots: slotsAt(scale, SLOTS), paused: true });
      try {
        return await measure(running, paths, options);
      } finally {
        await running.stop();
      }
    },
  };
}

async function measure(
  running: RunningHub,
  paths: readonly string[],
  { scale, seed }: WorkloadOptions,
): Promise<Run> {
  await running.resume();
  await running.allUp();
  const w1 = async () => {
    const count = Math.ceil(TASKS * scale);
    const { port, dialect } = running;
    const order = { load: 'throughput', count, port, dialect, connections: CONNECTIONS, seed } as const;
    const samples = await runLoad({ ...order, limitMs: LOAD_LIMIT_MS });
    return samples.find(({ name }) => name === 'tasks')?.value ?? Number.NaN;
  };
  const lists = new HttpConnection(running.port);
  // The first list after a start reads the whole store.
  await listOnce(lists, LIST_PATHS[0] ?? '');
  await quiet(running.hub.pid);
  const alone = await w1();

  const polls = new PollClients();
  try {
    await polls.open(running.port, paths);
    await quiet(running.hub.pid);
    const looking = lookThrough(lists);
    const beside = await w1();
    const listMs = await looking.stop();
    const answered = (await polls.answers()).size;
    if (answered > 0) throw new Error(`${answered} long polls were answered although nothing had ended`);
    return {
      samples: [
        { name: 'tasks alone', value: alone, unit: 'per s' },
        { name: 'tasks beside polls and lists', value: beside, unit: 'per s' },
        { name: 'list meanwhile, median', value: quantile(listMs, 0.5), unit: 'ms' },
        { name: 'list meanwhile, 99 of 100', value: quantile(listMs, 0.99), unit: 'ms' },
      ],
      processes: usesOf(running.pids),
    };
  } finally {
    lists.close();
    await polls.stop();
  }
}

async function listOnce(connection: HttpConnection, path: string): Promise<void> {
  const { status, text } = await connection.request({ method: 'GET', path });
  if (status !== 200) throw new Error(`GET ${path} answered ${status} ${text}`);
}

/** Requests lists one after the other, at intervals; `stop` returns the duration of each. */
function lookThrough(connection: HttpConnection): { stop(): Promise<number[]> } {
  const times: number[] = [];
  let stopped = false;
  const loop = (async () => {
    for (let at = 0; !stopped; at++) {
      const began = performance.now();
      await listOnce(connection, LIST_PATHS[at % LIST_PATHS.length] ?? '');
      times.push(performance.now() - began);
      await new Promise((resolve) => setTimeout(resolve, LIST_EVERY_MS - (performance.now() - began)));
    }
  })();
  return {
    stop: async () => {
      stopped = true;
      await loop;
      return times;
    },
  };
}
