/** Pairing of waiting tasks with idle instances (contract 2.3). */
import type { Requirement } from '@workbench-hub/shared/domain/classifier';
import { fits, surplusLabels } from '@workbench-hub/shared/domain/matching';
import {
  type FittingClasses,
  FreeInstances,
  type HostOfInstance,
  type IdleInstance,
  type IdleInstances,
  type InstanceClass,
} from './idle-instances.js';

export interface WaitingTask {
  readonly taskId: string;
  /** Queue group of the requirement key, in the store. */
  readonly groupId: number;
  readonly requirementKey: string;
  readonly priorityRank: number;
  /** Grows with the time of the request. */
  readonly sequence: number;
  /** Longest time of an attempt, in seconds; null for none. Hubs of an earlier version leave it out. */
  readonly timeLimitS?: number | null | undefined;
}

/** Waiting tasks that the same instance classes fit. */
export interface WaitingPool {
  /** Classes for any one of its tasks: surplus labels differ between its tasks by the same number in all classes. */
  readonly fitting: FittingClasses;
  /** The first tasks, in order: at least {@link countFitting} of them, or all. */
  readonly heads: readonly WaitingTask[];
}

export interface Pairing {
  readonly task: WaitingTask;
  readonly instance: IdleInstance;
}

/** Negative when `a` comes first: by priority, then by time of the request. */
export function compareWaiting(a: WaitingTask, b: WaitingTask): number {
  return a.priorityRank - b.priorityRank || a.sequence - b.sequence;
}

/** The classes that satisfy the requirement, with their numbers of surplus labels. */
export function fittingClasses(requirement: Requirement, classes: Iterable<InstanceClass>): FittingClasses {
  const fitting = new Map<InstanceClass, number>();
  for (const instanceClass of classes) {
    if (fits(requirement, instanceClass)) {
      fitting.set(instanceClass, surplusLabels(requirement, instanceClass));
    }
  }
  return fitting;
}

/** Allowance for the version and the type of the model, in addition to the labels, in bytes of JSON. */
const MAX_REST_OF_KEY_BYTES = 4096;
/** Maximum bytes of UTF-8 for each unit of a string. */
const MAX_BYTES_PER_CHARACTER = 3;

/** Maximum length of a requirement key that one of these classes fits, since a fitting class has all labels of the key. */
export function maxFittingKeyBytes(classes: Iterable<InstanceClass>): number {
  let max = 0;
  for (const { labels } of classes) {
    const asked = JSON.stringify(labels.map((label) => label.toLowerCase()));
    max = Math.max(max, asked.length * MAX_BYTES_PER_CHARACTER);
  }
  return MAX_REST_OF_KEY_BYTES + max;
}

/** Number of idle instances of these classes. */
export function countFitting(fitting: FittingClasses, idle: IdleInstances): number {
  let count = 0;
  for (const [instanceClass, ofClass] of idle) {
    if (fitting.has(instanceClass)) count += ofClass.count;
  }
  return count;
}

/** A pool during a round. */
interface UnpairedHeads extends WaitingPool {
  /** Index of the first task that is neither paired nor skipped. */
  next: number;
  /** Kinds of the skipped tasks. */
  readonly skipped: Set<string>;
}

/** Permission of tasks to go to hosts. */
export interface Permission {
  /** Whether a task may be dispatched to a host with a fitting instance. */
  isAllowed(task: WaitingTask, host: HostOfInstance): boolean;
  /** Text that tasks of a pool have in common only if they may go to the same hosts. */
  kindOf(task: WaitingTask): string;
}

/**
 * Pairs each task, first task first, with the best instance for it, each instance at most once. Tasks for which no instance is
 * left stay unpaired. Without `permission`, every task may go to every host.
 */
export function pair(pools: readonly WaitingPool[], idle: IdleInstances, permission?: Permission): Pairing[] {
  const free = new FreeInstances(idle);
  const pairings: Pairing[] = [];
  const unpaired = pools.map((pool): UnpairedHeads => ({ next: 0, skipped: new Set(), ...pool }));

  while (!free.isEmpty) {
    const first = firstToPair(unpaired, free, permission);
    if (!first) break;
    const { task, pool } = first;
    pool.next++;
    const isHostAllowed = permission && ((host: HostOfInstance) => permission.isAllowed(task, host));
    pairings.push({ task, instance: free.take(pool.fitting, isHostAllowed) });
  }
  return pairings;
}

/** The first task for which an instance is left, and its pool. */
function firstToPair(
  pools: readonly UnpairedHeads[],
  free: FreeInstances,
  permission: Permission | undefined,
): { readonly task: WaitingTask; readonly pool: UnpairedHeads } | undefined {
  let first: { task: WaitingTask; pool: UnpairedHeads } | undefined;
  for (const pool of pools) {
    if (permission) skipExcluded(pool, free, permission);
    const task = pool.heads[pool.next];
    if (!task || (first && compareWaiting(first.task, task) < 0)) continue;
    if (free.hasAny(pool.fitting)) first = { task, pool };
  }
  return first;
}

/** Skips tasks that may not go to any host with a fitting instance left. Hosts are asked once for each kind, since none comes back in a round. */
function skipExcluded(pool: UnpairedHeads, free: FreeInstances, permission: Permission): void {
  if (!free.hasAny(pool.fitting)) return;
  for (; ; pool.next++) {
    const task = pool.heads[pool.next];
    if (!task) return;
    const kind = permission.kindOf(task);
    if (pool.skipped.has(kind)) continue;
    if (free.hasAny(pool.fitting, (host) => permission.isAllowed(task, host))) return;
    pool.skipped.add(kind);
  }
}
