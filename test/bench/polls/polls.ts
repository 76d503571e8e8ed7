/**
 * Clients that wait for the results of tasks, each on a connection of its own: what they cost a hub in memory, how soon
 * they know, and how soon the place of one that has gone is free. Beside it the same connections to a bare server.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FakeAgent, type FakeAgentSetup } from '../../support/agents/fake-agent.js';
import { eventually } from '../../support/eventually.js';
import { startHub } from '../../support/programs/programs.js';
import { quantile } from '../figures.js';
import { fillStore } from '../lists/fill-store.js';
import { cpuSeconds, peakRssMib, rssMib } from '../machine.js';
import { quiet } from '../quiet.js';
import type { Run, Workload, WorkloadOptions } from '../workload.js';
import { PollClients, startBareServer } from './poll-clients.js';
import { wallClockMs } from './wall-clock.js';

const CLIENTS = 10_000;

/** Additional clients that leave before their task ends. */
const LEAVING_PART = 0.1;

const INSTANCES = 16;

const MEMORY_LIMIT_MIB = 150;
const ANSWER_LIMIT_MS = 50;

export const polls: Workload = {
  name: 'polls',
  what: '10,000 clients wait for a result each, the tasks end on 16 instances',
  prepare: async (options) => ({ measure: (folder) => measure(folder, options) }),
};

async function measure(folder: string, { scale, seed }: WorkloadOptions): Promise<Run> {
  const count = Math.ceil(CLIENTS * scale);
  const { samples, processes } = await measureHub(folder, count, seed);
  const bareKib = await measureBareServer(count);
  const hubKib = samples.find(({ name }) => name === PER_CLIENT)?.value ?? Number.NaN;
  return {
    samples: [
      ...samples,
      { name: 'memory of a bare server for each client', value: bareKib, unit: 'KiB' },
      { name: 'hub to bare server', value: hubKib / bareKib, unit: 'times' },
    ],
    processes,
  };
}

const PER_CLIENT = 'memory of the hub for each client';

async function measureHub(folder: string, count: number, seed: number): Promise<Run> {
  const leaving = Math.ceil(count * LEAVING_PART);
  const paths = writeTasks(join(folder, 'hub', 'hub.sqlite'), count + leaving, seed);
  const hub = await startHub(folder);
  const clients = new PollClients();
  try {
    const pid = hub.process.pid ?? 0;
    const port = Number(new URL(hub.baseUrl).port);
    await quiet(pid);
    const idleMib = rssMib(pid);
    const asked = [...paths.values()];
    await clients.open(port, asked.slice(0, count));
    await quiet(pid);
    const waitingMib = rssMib(pid);

    await clients.open(port, asked.slice(count));
    await quiet(pid);
    const handlesBefore = openHandles(pid);
    const began = performance.now();
    await clients.leave(leaving);
    await eventually(() => openHandles(pid) <= handlesBefore - leaving, 30_000);
    const leftMs = performance.now() - began;

    const token = readFileSync(join(folder, 'hub', 'agent-token'), 'utf8').trim();
    const ends = await endAll({ address: hub.baseUrl, token }, count + leaving);
    const answers = await eventually(async () => {
      const now = await clients.answers();
      return now.size === count && now;
    }, 60_000);
    const waits = [...ends].flatMap(([id, endMs]) => {
      const answerMs = answers.get(paths.get(id) ?? '');
      return answerMs === undefined ? [] : answerMs - endMs;
    });
    return {
      samples: [
        { name: 'memory of the idle hub', value: idleMib, unit: 'MiB' },
        { name: 'memory above idle', value: waitingMib - idleMib, unit: 'MiB', limit: MEMORY_LIMIT_MIB },
        { name: PER_CLIENT, value: ((waitingMib - idleMib) * 1024) / count, unit: 'KiB' },
        { name: `places of ${leaving} that left free after`, value: leftMs, unit: 'ms' },
        { name: 'end to answer, median', value: quantile(waits, 0.5), unit: 'ms', limit: ANSWER_LIMIT_MS },
        { name: 'end to answer, 99 of 100', value: quantile(waits, 0.99), unit: 'ms' },
        { name: 'tasks ended', value: ends.size / (spanMs(ends) / 1000), unit: 'per s' },
      ],
      processes: [
        { name: 'hub', cpuS: cpuSeconds(pid), peakRssMib: peakRssMib(pid) },
        { name: 'clients', cpuS: cpuSeconds(clients.pid), peakRssMib: peakRssMib(clients.pid) },
      ],
    };
  } finally {
    await clients.stop();
    await hub.kill();
  }
}

/** Writes waiting tasks into a new store; returns the result path of each, by id. */
function writeTasks(file: string, waiting: number, seed: number): Map<string, string> {
  const db = fillStore(file, { ended: 0, running: 0, waiting }, seed);
  const rows = db.prepare<[], { id: string; type: string }>('SELECT id, type FROM task').all();
  db.close();
  const pathOf = (id: string, type: string) =>
    `/api/2.0/workbench/task/${type.toLowerCase().replaceAll('_', '-')}/${id}/result?timeout=600`;
  return new Map(rows.map(({ id, type }) => [id, pathOf(id, type)]));
}

/** Joins an agent that ends every task at once; returns the report time of each. */
async function endAll(hub: { address: string; token: string }, count: number): Promise<Map<string, number>> {
  const ends = new Map<string, number>();
  const onHeard: FakeAgentSetup['onHeard'] = function (message) {
    if (message.type !== 'assign') return;
    ends.set(message.ref.taskId, wallClockMs());
    this.report(message.ref, 'OK');
  };
  const instances = Array.from({ length: INSTANCES }, (_, at) => ({ id: `sim-${at}` }));
  const agent = await FakeAgent.join(hub, { instances, onHeard });
  await eventually(() => ends.size === count, 120_000);
  await agent.leave();
  return ends;
}

async function measureBareServer(count: number): Promise<number> {
  const server = await startBareServer();
  const clients = new PollClients();
  try {
    await quiet(server.pid);
    const idleMib = rssMib(server.pid);
    await clients.open(
      server.port,
      Array.from({ length: count }, (_, at) => `/${at}`),
    );
    await quiet(server.pid);
    return ((rssMib(server.pid) - idleMib) * 1024) / count;
  } finally {
    await clients.stop();
    await server.stop();
  }
}

function openHandles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

function spanMs(ends: ReadonlyMap<string, number>): number {
  const times = [...ends.values()];
  return (times.at(-1) ?? 0) - (times[0] ?? 0);
}
