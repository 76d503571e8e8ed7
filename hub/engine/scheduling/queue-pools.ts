/**
 * The waiting tasks, in pools: those that the same instance classes fit wait in one pool, whatever they require. There are
 * as many pools as the known instances tell apart, however many requirements clients use. Of each pool the first tasks
 * are kept (QueueHeadCache), and the ids of its queue groups, to read further tasks. Groups that no known instance fits are
 * left in the store; all groups are read again when instance classes come or go.
 */
import { type Requirement, requirementOfKey } from '@workbench-hub/shared/domain/classifier';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import type { FittingClasses, IdleInstances, InstanceClass } from '../../core/idle-instances.js';
import {
  countFitting,
  fittingClasses,
  maxFittingKeyBytes,
  type WaitingTask,
} from '../../core/match-tasks.js';
import type { TaskQueue } from '../../core/ports/task-queue.js';
import type { Instances } from '../instances/instances.js';
import { QueueHeadCache } from './queue-head-cache.js';
import { readHeads } from './read-heads.js';

export interface QueuePoolsOptions {
  readonly queue: Pick<TaskQueue, 'waitingGroups' | 'heads' | 'waiting'>;
  readonly instances: Pick<Instances, 'classes' | 'classesVersion'>;
  readonly timers: Timers;
  /** Number of first tasks of a pool that are read at a time, unless the pool has more groups. */
  readonly headsPerPool?: number | undefined;
}

export interface QueuePool {
  readonly fitting: FittingClasses;
  readonly heads: QueueHeadCache;
  /** Ids of the groups in which tasks may wait. */
  readonly groups: Set<number>;
  /** Number of first tasks that the latest round needed. */
  needed: number;
  /** Number of first tasks that the next round needs because none of those before them may go to an instance that is left; 0 otherwise. */
  beyond: number;
}

/** A pool whose first `count` tasks are needed. */
export interface PoolNeed {
  readonly pool: QueuePool;
  readonly count: number;
}

const MAX_HEADS_PER_POOL = 64;
/** First tasks of all pools together: the more pools, the fewer of each, and at least one. */
const MAX_HEADS_TOTAL = 10_000;
/** First tasks of a pool among which one is looked for that may go to an instance that is left. */
const MAX_HEADS_LOOKED_THROUGH = 10_000;
/** Groups whose key is read in one turn of the event loop. */
const GROUPS_PER_PAGE = 500;
/** Groups without waiting tasks that a pool may keep in addition to as many as it has known tasks. */
const SPARE_GROUPS = 1000;

export class QueuePools {
  readonly #options: QueuePoolsOptions;
  /** Pools by the numbers of the fitting classes. */
  readonly #pools = new Map<string, QueuePool>();
  /** Pools by group id. */
  readonly #poolOf = new Map<number, QueuePool>();
  /** Known classes, with a number for each, as of {@link #classesVersion}. */
  #classes = new Map<InstanceClass, number>();
  #classesVersion = -1;
  /** All waiting groups have been read for these classes, since the last {@link forget}. */
  #isScanned = false;
  #forgotten = 0;
  /** Tasks that may wait again, at their old place. */
  #recheck = new Set<string>();
  #refreshing: Promise<void> | undefined;
  /** Groups that have got a task since the read of a pool began; undefined while none is read. */
  #addedDuringRead: Set<number> | undefined;

  constructor(options: QueuePoolsOptions) {
    this.#options = options;
  }

  /** Whether the pools are those of the known classes, and include every enqueued task. */
  get isCurrent(): boolean {
    return (
      !this.#refreshing &&
      this.#isScanned &&
      this.#recheck.size === 0 &&
      this.#classesVersion === this.#options.instances.classesVersion
    );
  }

  /** Makes the pools current, as of a time after the call. Rejects as the store does. */
  async refresh(): Promise<void> {
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = undefined;
    });
    await this.#refreshing;
  }

  /** A task of a group has begun to wait; true when a known instance fits it. */
  add(task: WaitingTask): boolean {
    const pool = this.#poolOf.get(task.groupId) ?? this.#join(task);
    if (!pool) return false;
    this.#addedDuringRead?.add(task.groupId);
    pool.heads.add(task, this.#limitOf(pool));
    return true;
  }

  /** Marks a task to be looked up again by the next {@link refresh}. */
  recheck(taskId: string): void {
    this.#recheck.add(taskId);
  }

  /** Makes the next {@link refresh} read everything again. */
  forget(): void {
    this.#forgotten++;
    this.#isScanned = false;
  }

  /** The task left the queue. */
  remove(taskId: string, requirement: Requirement): void {
    this.#pools.get(this.#keyOf(this.#fitting(requirement)))?.heads.remove(taskId);
  }

  /** The task left this queue group. */
  removeFrom({ taskId, groupId }: Pick<WaitingTask, 'taskId' | 'groupId'>): void {
    this.#poolOf.get(groupId)?.heads.remove(taskId);
  }

  /** Ids of the groups in which tasks may wait that one of these classes fits. */
  groupsFor(classes: readonly InstanceClass[]): number[] {
    return [...this.#pools.values()]
      .filter(({ fitting }) => classes.some((instanceClass) => fitting.has(instanceClass)))
      .flatMap(({ groups }) => [...groups]);
  }

  /** The pools that some idle instances fit, with the number of first tasks that a round needs: one for each of these
   *  instances, and `excluded` more, since that many may be excluded from all of them; or as many as {@link lookBeyond} asks for. */
  neededFor(idle: IdleInstances, excluded: number): PoolNeed[] {
    const needed: PoolNeed[] = [];
    for (const [key, pool] of this.#pools) {
      if (this.#dropEmpty(key, pool)) continue;
      const count = countFitting(pool.fitting, idle);
      if (count > 0) needed.push({ pool, count: Math.max(count + excluded, pool.beyond) });
    }
    return needed;
  }

  /** A round has left an instance that fits a pool (`isLeft`), since no known task may go to it, or none; true when the next round needs
   *  further tasks, about twice as many. */
  lookBeyond(pool: QueuePool, isLeft: boolean): boolean {
    const { heads } = pool;
    const isFurther = isLeft && !heads.isComplete && heads.known.length < MAX_HEADS_LOOKED_THROUGH;
    pool.beyond = isFurther ? heads.known.length + 1 : 0;
    return isFurther;
  }

  /** Reads at least `count` first tasks of a pool, or all. */
  async read({ pool, count }: PoolNeed): Promise<void> {
    const { queue, timers } = this.#options;
    const { heads, groups } = pool;
    pool.needed = count;
    const limit = this.#limitOf(pool);
    heads.beginRead();
    const added = new Set<number>();
    this.#addedDuringRead = added;
    try {
      const read = await readHeads(queue, timers, [...groups], limit);
      heads.endRead(read.heads, read.isComplete, limit);
      for (const groupId of read.emptyGroupIds) if (!added.has(groupId)) this.#leave(pool, groupId);
    } finally {
      this.#addedDuringRead = undefined;
    }
  }

  async #refresh(): Promise<void> {
    const { instances, queue } = this.#options;
    if (this.#classesVersion !== instances.classesVersion || !this.#isScanned) await this.#scan();
    const taskIds = this.#recheck;
    if (taskIds.size === 0) return;
    this.#recheck = new Set();
    try {
      for (const task of await queue.waiting([...taskIds])) this.add(task);
    } catch (error) {
      for (const taskId of taskIds) this.#recheck.add(taskId);
      throw error;
    }
  }

  /** Reads in which groups tasks wait, and keeps those that a known instance fits. */
  async #scan(): Promise<void> {
    const { instances, queue, timers } = this.#options;
    const { classes } = instances;
    const forgotten = this.#forgotten;
    this.#isScanned = false;
    this.#classesVersion = instances.classesVersion;
    this.#classes = new Map(classes.map((instanceClass, number) => [instanceClass, number]));
    this.#pools.clear();
    this.#poolOf.clear();
    const maxKeyBytes = maxFittingKeyBytes(classes);
    let afterGroupId: number | null = 0;
    while (afterGroupId !== null) {
      const page = await queue.waitingGroups({ afterGroupId, limit: GROUPS_PER_PAGE, maxKeyBytes });
      for (const group of page.groups) if (!this.#poolOf.has(group.groupId)) this.#join(group);
      afterGroupId = page.nextAfterGroupId;
      if (afterGroupId !== null) await new Promise<void>((resolve) => timers.soon(resolve));
    }
    this.#isScanned = forgotten === this.#forgotten;
  }

  /** Puts a group into its pool, which is a new one when nothing waited there; undefined when no known instance fits. */
  #join({ groupId, requirementKey }: Pick<WaitingTask, 'groupId' | 'requirementKey'>): QueuePool | undefined {
    const fitting = this.#fitting(requirementOfKey(requirementKey));
    if (fitting.size === 0) return undefined;
    const key = this.#keyOf(fitting);
    const pool = this.#pools.get(key) ?? {
      fitting,
      heads: new QueueHeadCache(this.#isScanned),
      groups: new Set<number>(),
      needed: 0,
      beyond: 0,
    };
    this.#pools.set(key, pool);
    pool.groups.add(groupId);
    this.#poolOf.set(groupId, pool);
    return pool;
  }

  #leave(pool: QueuePool, groupId: number): void {
    pool.groups.delete(groupId);
    if (this.#poolOf.get(groupId) === pool) this.#poolOf.delete(groupId);
  }

  /** Drops an empty pool, and the empty groups of a pool that has too many. */
  #dropEmpty(key: string, pool: QueuePool): boolean {
    const { heads, groups } = pool;
    if (heads.isEmpty) this.#pools.delete(key);
    if (!heads.isComplete || groups.size <= heads.known.length + (heads.isEmpty ? 0 : SPARE_GROUPS)) {
      return heads.isEmpty;
    }
    const waiting = new Set(heads.known.map(({ groupId }) => groupId));
    for (const groupId of groups) if (!waiting.has(groupId)) this.#leave(pool, groupId);
    return heads.isEmpty;
  }

  #fitting(requirement: Requirement): FittingClasses {
    return fittingClasses(requirement, this.#classes.keys());
  }

  #keyOf(fitting: FittingClasses): string {
    return [...fitting.keys()].map((instanceClass) => this.#classes.get(instanceClass)).join();
  }

  /** Number of first tasks to keep. A pool of many groups keeps more, since each reading of it costs more; twice the need keeps a
   *  pool from being read again for each task that is dispatched. */
  #limitOf({ groups, needed }: QueuePool): number {
    const { headsPerPool = MAX_HEADS_PER_POOL } = this.#options;
    const share = Math.max(1, Math.floor(MAX_HEADS_TOTAL / this.#pools.size));
    return Math.max(2 * needed, Math.min(share, Math.max(headsPerPool, groups.size)));
  }
}
