/**
 * A hub with a long backlog beside the same hub without one: its memory, the time of a restart, the rate at which the backlog is
 * worked off, and the time of a task of the highest priority meanwhile.
 */
import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { HttpConnection } from '../load/http-connection.js';
import { runLoad } from '../load/load.js';
import type { LoadName } from '../load/loads.js';
import { rssMib, treeUse } from '../machine.js';
import { bullmqAlways } from '../peers/bullmq.js';
import { limitPipeline } from '../peers/limit.js';
import { quiet } from '../quiet.js';
import { type RunningHub, startHub } from '../subjects/hub.js';
import { slotsAt } from '../subjects/slots.js';
import type { RunningSubject, Subject } from '../subjects/subject.js';
import type { ProcessUse, ReadyWorkload, Sample, Workload, WorkloadOptions } from '../workload.js';
import { fillBacklog, INSTANCES } from './fill-backlog.js';

const WAITING = 1_000_000;
/** Other subjects get theirs through their interface, without requirements. */
const WAITING_AT_OTHERS = 200_000;
const W1_TASKS = 20_000;
const URGENT_TASKS = 40;
const SLOTS = 16;
const CONNECTIONS = 64;
const LOAD_LIMIT_MS = 300_000;

const MEMORY_LIMIT_MIB = 60;
const START_LIMIT_MS = 3000;
const URGENT_LIMIT_MS = 10;

export const w3: Workload = {
  name: 'w3',
  what: '1,000,000 tasks wait over 50 requirements and all priorities, then 16 instances start',
  targets: [
    { figure: 'hub: tasks from the backlog', is: 'at least', value: 1, times: 'hub: tasks of w1' },
    { figure: 'hub: memory above none waiting', is: 'at most', value: MEMORY_LIMIT_MIB },
    { figure: 'hub: memory above none waiting, lists in use', is: 'at most', value: MEMORY_LIMIT_MIB },
    { figure: 'hub: start to first answer', is: 'at most', value: START_LIMIT_MS },
    { figure: 'hub: start after a kill to first answer', is: 'at most', value: START_LIMIT_MS },
    { figure: 'hub: task of the highest priority, median', is: 'at most', value: URGENT_LIMIT_MS },
  ],
  prepare,
};

async function prepare(options: WorkloadOptions): Promise<ReadyWorkload> {
  const { folder, scale, seed, only, say } = options;
  const wanted = (name: string) => only === undefined || only.includes(name);
  const others = [limitPipeline, bullmqAlways].filter(({ name }) => wanted(name));
  const skipped = others.flatMap((subject) => {
    const missing = subject.missing();
    return missing === undefined ? [] : [`${subject.name}: ${missing}`];
  });
  for (const line of skipped) say(`w3: NOT MEASURED: ${line}`);

  const file = join(folder, 'backlog.sqlite');
  const count = Math.ceil(WAITING * scale);
  say(`w3: writing ${count} tasks`);
  const waitingId = wanted('hub') ? fillBacklog(file, count, seed) : '';
  let used: ProcessUse[] = [];
  return {
    measure: async () => {
      const samples: Sample[] = [];
      used = [];
      if (wanted('hub')) {
        const measured = await measureHub(file, waitingId, options);
        samples.push(...measured.samples);
        used.push(...measured.used);
      }
      for (const other of others) {
        if (other.missing() !== undefined) continue;
        const measured = await measureOther(other, options);
        samples.push(...measured.samples);
        used.push(...measured.used);
      }
      for (const { name, value, unit } of samples) say(`w3: ${name}: ${value.toFixed(1)} ${unit}`);
      return samples;
    },
    use: () => used,
    skipped: () => skipped,
    end: async () => undefined,
  };
}

interface Measured {
  readonly samples: Sample[];
  readonly used: ProcessUse[];
}

async function measureHub(file: string, waitingId: string, options: WorkloadOptions): Promise<Measured> {
  const { folder: parent, scale, profiles } = options;
  const profile = profiles === undefined ? {} : { profiles };
  const instances = INSTANCES;
  const slots = slotsAt(scale, SLOTS);

  // The same hub, with nothing waiting.
  const before = await inFolder(join(parent, 'none-waiting'), async (folder) => {
    const idle = await startHub({ folder, slots, paused: true }, { instances });
    try {
      await quiet(idle.hub.pid);
      const memoryMib = rssMib(idle.hub.pid);
      await expectList(idle.port);
      await quiet(idle.hub.pid);
      const withListsMib = rssMib(idle.hub.pid);
      await idle.resume();
      await idle.allUp();
      const w1 = await load('throughput', Math.ceil(W1_TASKS * scale), idle, options);
      return { memoryMib, withListsMib, w1TasksPerS: w1.get('tasks') ?? Number.NaN };
    } finally {
      await idle.stop();
    }
  });

  return inFolder(join(parent, 'backlog'), async (folder) => {
    mkdirSync(join(folder, 'hub-data'));
    copyFileSync(file, join(folder, 'hub-data', 'hub.sqlite'));
    const start = async () => {
      const startedAt = performance.now();
      const running = await startHub({ folder, slots, paused: true, ...profile }, { instances });
      await expectTask(running.port, waitingId);
      return { running, tookMs: performance.now() - startedAt };
    };
    const first = await start();
    const used: ProcessUse[] = [];
    const measured = await (async () => {
      const { running } = first;
      try {
        await quiet(running.hub.pid);
        const memoryMib = rssMib(running.hub.pid);
        const firstListMs = await timed(() => expectList(running.port));
        await quiet(running.hub.pid);
        const withListsMib = rssMib(running.hub.pid);
        const joinedMs = await timed(async () => {
          await running.resume();
          await running.allUp();
        });
        const urgent = await load('urgent', Math.ceil(URGENT_TASKS * scale), running, options);
        used.push(...useOf('hub', running));
        // Only a process that ends normally writes its profile.
        await (profiles === undefined ? running.hub.kill() : running.hub.stop());
        return { memoryMib, firstListMs, withListsMib, joinedMs, urgent };
      } finally {
        await running.stop();
      }
    })();
    const again = await start();
    await again.running.stop();

    const samples: Sample[] = [
      { name: 'tasks of w1', value: before.w1TasksPerS, unit: 'per s' },
      { name: 'memory with none waiting', value: before.memoryMib, unit: 'MiB' },
      { name: 'memory above none waiting', value: measured.memoryMib - before.memoryMib, unit: 'MiB' },
      {
        name: 'memory above none waiting, lists in use',
        value: measured.withListsMib - before.withListsMib,
        unit: 'MiB',
      },
      { name: 'first list', value: measured.firstListMs, unit: 'ms' },
      { name: 'start to first answer', value: first.tookMs, unit: 'ms' },
      // One that writes a profile is not killed.
      ...(profiles === undefined
        ? [{ name: 'start after a kill to first answer', value: again.tookMs, unit: 'ms' } as const]
        : []),
      { name: 'both agents joined after', value: measured.joinedMs, unit: 'ms' },
      ...urgentSamples(measured.urgent),
    ];
    return { samples: samples.map((sample) => ({ ...sample, name: `hub: ${sample.name}` })), used };
  });
}

function measureOther(subject: Subject, options: WorkloadOptions): Promise<Measured> {
  return inFolder(join(options.folder, subject.name.replaceAll(' ', '-')), async (folder) => {
    const slots = slotsAt(options.scale, SLOTS);
    const running = await subject.start({ folder, slots, paused: true });
    try {
      await load('backlog', Math.ceil(WAITING_AT_OTHERS * options.scale), running, options);
      await running.resume();
      const urgent = await load('urgent', Math.ceil(URGENT_TASKS * options.scale), running, options);
      return {
        samples: urgentSamples(urgent).map((sample) => ({
          ...sample,
          name: `${subject.name}, 200,000 of one kind: ${sample.name}`,
        })),
        used: useOf(subject.name, running),
      };
    } finally {
      await running.stop();
    }
  });
}

function urgentSamples(measured: ReadonlyMap<string, number>): Sample[] {
  const of = (name: string) => measured.get(name) ?? Number.NaN;
  return [
    { name: 'tasks from the backlog', value: of('tasks'), unit: 'per s' },
    { name: 'task of the highest priority, median', value: of('urgent task, median'), unit: 'ms' },
    { name: 'task of the highest priority, 99 of 100', value: of('urgent task, 99 of 100'), unit: 'ms' },
  ];
}

/** Results of a load by name. */
async function load(
  name: LoadName,
  count: number,
  { port, dialect }: RunningSubject,
  { seed }: WorkloadOptions,
): Promise<ReadonlyMap<string, number>> {
  const order = { load: name, count, port, dialect, seed, connections: CONNECTIONS, limitMs: LOAD_LIMIT_MS };
  const samples = await runLoad(order);
  return new Map(samples.map((sample) => [sample.name, sample.value]));
}

function useOf(subject: string, { pids }: RunningSubject | RunningHub): ProcessUse[] {
  return [...pids].flatMap(([name, pid]) => {
    const { own, beneath } = treeUse(pid);
    const use = { name: `${subject}: ${name}`, ...own };
    return beneath ? [use, { ...beneath, name: `${subject}: processes of ${name}` }] : [use];
  });
}

function expectTask(port: number, id: string): Promise<void> {
  return expectAnswer(port, `/api/2.0/workbench/task/${id}`);
}

/** The first list after a start reads all tasks. */
function expectList(port: number): Promise<void> {
  return expectAnswer(port, '/api/2.0/workbench/task/list');
}

async function expectAnswer(port: number, path: string): Promise<void> {
  const connection = new HttpConnection(port);
  const { status } = await connection.request({ method: 'GET', path });
  connection.close();
  if (status !== 200) throw new Error(`GET ${path} answered ${status}`);
}

async function inFolder<T>(folder: string, action: (folder: string) => Promise<T>): Promise<T> {
  mkdirSync(folder);
  try {
    return await action(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function timed(action: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await action();
  return performance.now() - began;
}
