/** Loads of the generator. Each marks the begin and end of its measured part, and returns its values. */
import { quantile } from '../figures.js';
import type { Sample } from '../workload.js';
import type { LoadTask } from './dialects.js';
import type { HttpRequest } from './http-connection.js';
import type { LoadClient } from './load-client.js';

export type LoadName =
  | 'create'
  | 'backlog'
  | 'urgent'
  | 'paced'
  | 'throughput'
  | 'processes'
  | 'closed-loop'
  | 'one-by-one';

/** `begin` and `end` resolve when the processes have been measured. */
export interface Marks {
  begin(): Promise<void>;
  end(): Promise<void>;
}

export type Load = (client: LoadClient, count: number, marks: Marks) => Promise<Sample[]>;

const CHECKED_TASKS = 100;
/** Each service first gets half as many tasks, to compare services that have been up for a while. */
const WARM_SHARE = 0.5;
const MIN_WARM_TASKS = 500;
/** The first tasks after a start, measured apart. */
const COLD_TASKS = 200;
const BACKLOG_MOVES_MS = 2000;
const URGENT_EVERY_MS = 500;
/** 1,000 a second. */
const PACE_PER_MS = 1;

/** Creates tasks that no instance runs. */
async function create(client: LoadClient, count: number, marks: Marks): Promise<Sample[]> {
  const warm = warmTasks(count);
  const requests = client.tasks(count + warm, 'NOOP');
  const first = requests.splice(0, Math.min(warm, COLD_TASKS));
  const coldS = await secondsOf(() => client.createAll(first));
  await client.createAll(requests.splice(0, warm - first.length));
  await marks.begin();
  const began = performance.now();
  const { tookMs } = await client.createAll(requests);
  const seconds = (performance.now() - began) / 1000;
  await marks.end();
  return [
    perS('creates', count / seconds),
    ...latencies('create', tookMs),
    perS('creates, cold', first.length / coldS),
  ];
}

/** Creates tasks of a middle priority: some queues take those with none before all others. */
async function backlog(client: LoadClient, count: number, marks: Marks): Promise<Sample[]> {
  const requests = client.tasks(count, 'NOOP', 'NORMAL');
  await marks.begin();
  await client.createAll(requests);
  await marks.end();
  return [];
}

/** Tasks of the highest priority, now and then, while a backlog is worked off. */
async function urgent(client: LoadClient, count: number, marks: Marks): Promise<Sample[]> {
  const requests = client.tasks(count, 'NOOP', 'HIGHEST');
  await new Promise((resolve) => setTimeout(resolve, BACKLOG_MOVES_MS));
  await marks.begin();
  const tookMs: number[] = [];
  const began = performance.now();
  const endedBefore = await client.count();
  for (const [at, request] of requests.entries()) {
    const nextAt = began + (at + 1) * URGENT_EVERY_MS;
    const sentAt = performance.now();
    await client.expectEnd(await client.create(request), 'NOOP');
    tookMs.push(performance.now() - sentAt);
    await new Promise((resolve) => setTimeout(resolve, nextAt - performance.now()));
  }
  const endedAfter = await client.count();
  const seconds = (performance.now() - began) / 1000;
  await marks.end();
  return [perS('tasks', (endedAfter - endedBefore) / seconds), ...latencies('urgent task', tookMs)];
}

/** Creates tasks at a fixed rate, without waiting for responses. */
async function paced(client: LoadClient, count: number, marks: Marks): Promise<Sample[]> {
  await warmUp(client, 'NOOP', count);
  const endedBefore = await client.count();
  const requests = client.tasks(count, 'NOOP');
  await marks.begin();
  const began = performance.now();
  const tookMs: number[] = [];
  const ids: string[] = [];
  await client.each(requests, async (request, connection, at) => {
    const dueAt = began + at / PACE_PER_MS;
    const earlyMs = dueAt - performance.now();
    if (earlyMs > 0) await new Promise((resolve) => setTimeout(resolve, earlyMs));
    ids[at] = await client.create(request, connection);
    // Includes the delay when all connections were busy.
    tookMs.push(performance.now() - dueAt);
  });
  await client.expectEnd(ids.at(-1) ?? '', 'NOOP');
  await client.expectCount(endedBefore + count);
  const seconds = (performance.now() - began) / 1000;
  await marks.end();
  return [perS('tasks', count / seconds), ...latencies('create', tookMs)];
}

/** Creates all tasks as fast as possible while they are run. */
function throughput(kind: LoadTask['kind']): Load {
  return async (client, count, marks) => {
    const cold = await warmUp(client, kind, count);
    const endedBefore = await client.count();
    const requests = client.tasks(count, kind);
    await marks.begin();
    const began = performance.now();
    const { ids, tookMs } = await client.createAll(requests);
    const createdS = (performance.now() - began) / 1000;
    // Most have ended when the last one has: counting costs more than waiting.
    await client.expectEnd(ids.at(-1) ?? '', kind);
    await client.expectCount(endedBefore + count);
    const endedS = (performance.now() - began) / 1000;
    await marks.end();
    const checked = ids.filter((_, at) => at % Math.ceil(count / CHECKED_TASKS) === 0);
    await client.each(checked, (id, connection) => client.expectEnd(id, kind, connection));
    return [
      perS('tasks', count / endedS),
      perS('creates', count / createdS),
      ...latencies('create', tookMs),
      cold,
    ];
  };
}

/** Every connection creates a task, waits for its result, and repeats. */
async function closedLoop(client: LoadClient, count: number, marks: Marks): Promise<Sample[]> {
  const cold = await warmUp(client, 'NOOP', count);
  const { seconds, tookMs } = await roundTrips(client, count, marks);
  return [perS('round trips', count / seconds), ...latencies('round trip', tookMs), cold];
}

/** The same with one connection: the time of a task when there is nothing else to do. */
async function oneByOne(client: LoadClient, count: number, marks: Marks): Promise<Sample[]> {
  const cold = await warmUp(client, 'NOOP', count);
  const { tookMs } = await roundTrips(client, count, marks);
  return [...latencies('round trip', tookMs), cold];
}

async function roundTrips(client: LoadClient, count: number, marks: Marks) {
  const tookMs: number[] = [];
  const requests = client.tasks(count, 'NOOP');
  await marks.begin();
  const began = performance.now();
  await client.each(requests, async (request, connection) => {
    const sentAt = performance.now();
    await client.expectEnd(await client.create(request, connection), 'NOOP', connection);
    tookMs.push(performance.now() - sentAt);
  });
  const seconds = (performance.now() - began) / 1000;
  await marks.end();
  return { seconds, tookMs };
}

function warmTasks(count: number): number {
  return Math.min(count, Math.max(MIN_WARM_TASKS, Math.ceil(count * WARM_SHARE)));
}

/** Runs the warm-up tasks; returns the rate of the first ones, which a service that was just started runs. */
async function warmUp(client: LoadClient, kind: LoadTask['kind'], count: number): Promise<Sample> {
  const requests = client.tasks(warmTasks(count), kind);
  const run = (some: readonly HttpRequest[]) =>
    client.each(some, async (request, connection) => {
      await client.expectEnd(await client.create(request, connection), kind, connection);
    });
  const first = requests.splice(0, COLD_TASKS);
  const coldS = await secondsOf(() => run(first));
  await run(requests);
  return perS('round trips, cold', first.length / coldS);
}

async function secondsOf(action: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await action();
  return (performance.now() - began) / 1000;
}

function perS(name: string, value: number): Sample {
  return { name, value, unit: 'per s' };
}

function latencies(name: string, tookMs: readonly number[]): Sample[] {
  return [
    { name: `${name}, median`, value: quantile(tookMs, 0.5), unit: 'ms' },
    { name: `${name}, 99 of 100`, value: quantile(tookMs, 0.99), unit: 'ms' },
  ];
}

export const LOADS: Readonly<Record<LoadName, Load>> = {
  create,
  backlog,
  urgent,
  paced,
  throughput: throughput('NOOP'),
  processes: throughput('PROCESS'),
  'closed-loop': closedLoop,
  'one-by-one': oneByOne,
};
