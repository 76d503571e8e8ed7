/** Loads of the workload with a backlog, and what they use. */
import { runLoad } from '../load/load.js';
import type { LoadName } from '../load/loads.js';
import { treeUsesOf } from '../machine.js';
import type { RunningSubject } from '../subjects/subject.js';
import type { ProcessUse, Sample, WorkloadOptions } from '../workload.js';

const CONNECTIONS = 64;
const LOAD_LIMIT_MS = 300_000;

/** Results of a load by name. */
export async function load(
  name: LoadName,
  count: number,
  { port, dialect }: RunningSubject,
  { seed }: WorkloadOptions,
): Promise<ReadonlyMap<string, number>> {
  const order = { load: name, count, port, dialect, seed, connections: CONNECTIONS, limitMs: LOAD_LIMIT_MS };
  const samples = await runLoad(order);
  return new Map(samples.map((sample) => [sample.name, sample.value]));
}

export function urgentSamples(measured: ReadonlyMap<string, number>): Sample[] {
  const of = (name: string) => measured.get(name) ?? Number.NaN;
  return [
    { name: 'tasks from the backlog', value: of('tasks'), unit: 'per s' },
    { name: 'task of the highest priority, median', value: of('urgent task, median'), unit: 'ms' },
    { name: 'task of the highest priority, 99 of 100', value: of('urgent task, 99 of 100'), unit: 'ms' },
  ];
}

/** Resource use of processes, by name and id, so far. */
export function useOf(subject: string, pids: Iterable<readonly [name: string, pid: number]>): ProcessUse[] {
  return treeUsesOf(pids).map((use) => ({ ...use, name: `${subject}: ${use.name}` }));
}
