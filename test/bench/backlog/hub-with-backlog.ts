/** A hub with a long backlog beside the same hub without one. */
import { join } from 'node:path';
import { inFolder } from '../in-folder.js';
import { HttpConnection } from '../load/http-connection.js';
import { rssMib } from '../machine.js';
import { quiet } from '../quiet.js';
import { startHub } from '../subjects/hub.js';
import { slotsAt } from '../subjects/slots.js';
import type { ProcessUse, Run, Sample, WorkloadOptions } from '../workload.js';
import type { BacklogStore, HubStore } from './backlog-stores.js';
import { load, urgentSamples, useOf } from './measured-load.js';
import { INSTANCES } from './waiting-tasks.js';

const W1_TASKS = 20_000;
export const URGENT_TASKS = 40;
export const SLOTS = 16;

/** @param subject Name of the hub in tables. */
export async function measureHub(
  subject: string,
  store: BacklogStore,
  waitingId: string,
  options: WorkloadOptions,
): Promise<Run> {
  const none = await inFolder(join(options.folder, 'none-waiting'), (folder) =>
    withStore(store, folder, false, (own) => withNoneWaiting(folder, own, options)),
  );
  const { samples, processes, memoryMib, withListsMib } = await inFolder(
    join(options.folder, 'backlog'),
    (folder) =>
      withStore(store, folder, true, (own) => withBacklog({ folder, subject, waitingId }, own, options)),
  );
  const all: Sample[] = [
    { name: 'tasks of w1', value: none.w1TasksPerS, unit: 'per s' },
    { name: 'memory with none waiting', value: none.memoryMib, unit: 'MiB' },
    { name: 'memory above none waiting', value: memoryMib - none.memoryMib, unit: 'MiB' },
    {
      name: 'memory above none waiting, lists in use',
      value: withListsMib - none.withListsMib,
      unit: 'MiB',
    },
    ...samples,
  ];
  return { samples: all.map((sample) => ({ ...sample, name: `${subject}: ${sample.name}` })), processes };
}

async function withNoneWaiting(folder: string, { store }: HubStore, options: WorkloadOptions) {
  const slots = slotsAt(options.scale, SLOTS);
  const idle = await startHub({ folder, slots, paused: true }, { instances: INSTANCES, store });
  try {
    await quiet(idle.hub.pid);
    const memoryMib = rssMib(idle.hub.pid);
    await expectList(idle.port);
    await quiet(idle.hub.pid);
    const withListsMib = rssMib(idle.hub.pid);
    await idle.resume();
    await idle.allUp();
    const w1 = await load('throughput', Math.ceil(W1_TASKS * options.scale), idle, options);
    return { memoryMib, withListsMib, w1TasksPerS: w1.get('tasks') ?? Number.NaN };
  } finally {
    await idle.stop();
  }
}

interface BacklogRun {
  readonly folder: string;
  readonly subject: string;
  readonly waitingId: string;
}

async function withBacklog(
  { folder, subject, waitingId }: BacklogRun,
  { store, serverPid }: HubStore,
  options: WorkloadOptions,
) {
  const { scale, profiles } = options;
  const profile = profiles === undefined ? {} : { profiles };
  const slots = slotsAt(scale, SLOTS);
  const start = async () => {
    const startedAt = performance.now();
    const running = await startHub(
      { folder, slots, paused: true, ...profile },
      { instances: INSTANCES, store },
    );
    await expectAnswer(running.port, `/api/2.0/workbench/task/${waitingId}`);
    return { running, tookMs: performance.now() - startedAt };
  };
  const first = await start();
  const { running } = first;
  const processes: ProcessUse[] = [];
  const measured = await (async () => {
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
      const server: [string, number][] = serverPid === undefined ? [] : [['postgres', serverPid]];
      processes.push(...useOf(subject, [...running.pids, ...server]));
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
    { name: 'first list', value: measured.firstListMs, unit: 'ms' },
    { name: 'start to first answer', value: first.tookMs, unit: 'ms' },
    // One that writes a profile is not killed.
    ...(profiles === undefined
      ? [{ name: 'start after a kill to first answer', value: again.tookMs, unit: 'ms' } as const]
      : []),
    { name: 'both agents joined after', value: measured.joinedMs, unit: 'ms' },
    ...urgentSamples(measured.urgent),
  ];
  return { samples, processes, memoryMib: measured.memoryMib, withListsMib: measured.withListsMib };
}

async function withStore<T>(
  stores: BacklogStore,
  folder: string,
  filled: boolean,
  action: (store: HubStore) => Promise<T>,
): Promise<T> {
  const store = await stores.open(join(folder, 'hub-data'), filled);
  try {
    return await action(store);
  } finally {
    await store.remove();
  }
}

/** The first list after a start reads all tasks on SQLite. */
function expectList(port: number): Promise<void> {
  return expectAnswer(port, '/api/2.0/workbench/task/list');
}

async function expectAnswer(port: number, path: string): Promise<void> {
  const connection = new HttpConnection(port);
  const { status } = await connection.request({ method: 'GET', path });
  connection.close();
  if (status !== 200) throw new Error(`GET ${path} answered ${status}`);
}

async function timed(action: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await action();
  return performance.now() - began;
}
