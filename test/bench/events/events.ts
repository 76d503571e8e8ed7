/**
 * Clients that follow the changes of tasks: what they cost a hub in memory, and what 100 of them cost the tasks of W1, when each
 * gets everything and when each gets what one user does.
 */
import { runLoad } from '../load/load.js';
import { cpuSeconds, rssMib, usesOf } from '../machine.js';
import { PollClients } from '../polls/poll-clients.js';
import { quiet } from '../quiet.js';
import { type RunningHub, startHub } from '../subjects/hub.js';
import { slotsAt } from '../subjects/slots.js';
import type { Run, Sample, Workload, WorkloadOptions } from '../workload.js';

/** As browsers and Node.js say it. */
const ENCODINGS = 'gzip, deflate';
const LISTENERS = 5000;
const LISTENERS_OF_W1 = 100;
const TASKS = 20_000;
const SLOTS = 16;
const CONNECTIONS = 64;
const LOAD_LIMIT_MS = 300_000;
const MEMORY_LIMIT_MIB = 150;

export const events: Workload = {
  name: 'events',
  what: '5,000 clients follow all tasks; w1 alone and beside 100 of them',
  targets: [
    { figure: 'tasks beside 100 who follow one user', is: 'at least', value: 0.97, times: 'tasks alone' },
    { figure: 'tasks beside 100 who follow all', is: 'at least', value: 0.97, times: 'tasks alone' },
  ],
  prepare: async (options) => ({ measure: (folder) => measureIn(folder, options) }),
};

async function measureIn(folder: string, options: WorkloadOptions): Promise<Run> {
  const running = await startHub({ folder, slots: slotsAt(options.scale, SLOTS), paused: true });
  try {
    return await measure(running, options);
  } finally {
    await running.stop();
  }
}

async function measure(running: RunningHub, { scale, seed }: WorkloadOptions): Promise<Run> {
  await running.resume();
  await running.allUp();
  const w1 = async () => {
    const count = Math.ceil(TASKS * scale);
    const { port, dialect } = running;
    const order = { load: 'throughput', count, port, dialect, connections: CONNECTIONS, seed } as const;
    const beforeS = cpuSeconds(running.hub.pid);
    const samples = await runLoad({ ...order, limitMs: LOAD_LIMIT_MS });
    const perS = samples.find(({ name }) => name === 'tasks')?.value ?? Number.NaN;
    return { perS, cpuMs: ((cpuSeconds(running.hub.pid) - beforeS) * 1000) / count };
  };
  // The first is slower: the hub is compiled while it runs.
  await w1();
  const before = await w1();
  const ofOne = await beside(running, LISTENERS_OF_W1, 'creator=nobody', w1);
  const ofAll = await beside(running, LISTENERS_OF_W1, '', w1);
  const plain = await beside(running, LISTENERS_OF_W1, '', w1, 'identity');
  const after = await w1();
  // A store that grows makes each run a little slower.
  const alone = { perS: (before.perS + after.perS) / 2, cpuMs: (before.cpuMs + after.cpuMs) / 2 };

  const count = Math.ceil(LISTENERS * scale);
  await quiet(running.hub.pid);
  const idleMib = rssMib(running.hub.pid);
  const listeningMib = await beside(running, count, '', async () => {
    await quiet(running.hub.pid);
    return rssMib(running.hub.pid);
  });
  const samples: Sample[] = [
    { name: 'tasks alone', value: alone.perS, unit: 'per s' },
    { name: 'tasks beside 100 who follow one user', value: ofOne.perS, unit: 'per s' },
    { name: 'tasks beside 100 who follow all', value: ofAll.perS, unit: 'per s' },
    { name: 'the same uncompressed', value: plain.perS, unit: 'per s' },
    { name: 'CPU of the hub for each task alone', value: alone.cpuMs, unit: 'ms' },
    { name: 'the same beside 100 who follow one user', value: ofOne.cpuMs, unit: 'ms' },
    { name: 'the same beside 100 who follow all', value: ofAll.cpuMs, unit: 'ms' },
    { name: 'the same uncompressed, CPU', value: plain.cpuMs, unit: 'ms' },
    { name: 'memory above idle', value: listeningMib - idleMib, unit: 'MiB', limit: MEMORY_LIMIT_MIB },
    {
      name: 'memory of the hub for each listener',
      value: ((listeningMib - idleMib) * 1024) / count,
      unit: 'KiB',
    },
  ];
  return { samples, processes: usesOf(running.pids) };
}

/** Performs `work` while this number of clients listens; fails when one of them was told nothing of it. */
async function beside<T>(
  { port }: RunningHub,
  count: number,
  filter: string,
  work: () => Promise<T>,
  encodings = ENCODINGS,
): Promise<T> {
  const listeners = new PollClients();
  try {
    const paths = Array.from({ length: count }, (_, at) => `/api/x/events?${filter}&client=${at}`);
    await listeners.open(port, paths, encodings);
    const result = await work();
    const answered = (await listeners.answers()).size;
    if (answered !== count) throw new Error(`${answered} of ${count} listeners were told anything`);
    return result;
  } finally {
    await listeners.stop();
  }
}
