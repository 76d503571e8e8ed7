/**
 * Scheduler: dispatches waiting tasks to idle instances. One round pairs the first tasks of the queue pools with the idle
 * instances, claims them in the store and tells that they are assigned. The store is read when the known first tasks are used up. A
 * round costs the same however many tasks wait, and however many requirements they have.
 */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { Loop } from '@workbench-hub/shared/runtime/loop';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { IdleInstance, IdleInstances, InstanceClass } from '../../core/idle-instances.js';
import { type Pairing, type Permission, pair } from '../../core/match-tasks.js';
import type { SignalListener, Signals } from '../../core/ports/signals.js';
import type { ClaimedTask, TaskQueue } from '../../core/ports/task-queue.js';
import type { AgentExclusions } from '../agents/agent-exclusions.js';
import type { Instances } from '../instances/instances.js';
import type { TaskTransitions } from '../transitions/task-transitions.js';
import type { HostEnds } from './host-ends.js';
import { type PoolNeed, QueuePools } from './queue-pools.js';

export interface SchedulerOptions {
  readonly queue: Pick<TaskQueue, 'waitingGroups' | 'heads' | 'waiting'>;
  readonly transitions: Pick<TaskTransitions, 'claim' | 'dispatchFailed'>;
  readonly signals: Pick<Signals, 'tell'>;
  readonly instances: Pick<
    Instances,
    'idle' | 'idleInstance' | 'lentHosts' | 'classes' | 'classesVersion' | 'reserve'
  >;
  readonly exclusions: Pick<AgentExclusions, 'count' | 'isAllowed' | 'of'>;
  readonly hostEnds: Pick<HostEnds, 'count' | 'isAllowed'>;
  readonly runtime: Runtime;
  readonly log: Logger;
  /** Number of first tasks of a queue pool that are read at a time. */
  readonly headsPerPool?: number | undefined;
}

/** A task for one instance alone. */
interface Placement {
  readonly taskId: string;
  readonly instanceId: string;
  readonly settle: (isClaimed: boolean) => void;
}

/** First tasks of a pool that a round looks at beyond its instances, since a host with an end may have no time for those before them. */
const HEADS_PASSED_OVER = 100;
/** Delay of the next try after a failure of the store. */
const RETRY_MS = 1000;

export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #pools: QueuePools;
  readonly #loop: Loop;
  #started = false;
  #paused = false;
  #term = 0;
  #placements: Placement[] = [];

  constructor(options: SchedulerOptions) {
    const { queue, instances, runtime, headsPerPool } = options;
    this.#options = options;
    this.#pools = new QueuePools({ queue, instances, timers: runtime.timers, headsPerPool });
    this.#loop = new Loop({ timers: runtime.timers, pass: () => this.#pass() });
  }

  /** Reads what waits in the store, then begins; it claims for this term. */
  async start(term: number): Promise<void> {
    if (this.#started) return;
    this.#started = true;
    this.#term = term;
    this.#pools.forget();
    try {
      await this.#pools.refresh();
    } catch (error) {
      this.#started = false;
      throw error;
    }
    this.#loop.start();
  }

  /** Begins no further round; resolves when the current one has ended. */
  async stop(): Promise<void> {
    this.#started = false;
    this.#refusePlacements();
    await this.#loop.stop();
  }

  /** Begins no further round until {@link resume}; events are still recorded. */
  pause(): void {
    this.#paused = true;
    this.#refusePlacements();
  }

  /** Continues, unless it has not been started or was stopped. */
  resume(): void {
    this.#paused = false;
    this.wake();
  }

  /** Claims a waiting task for this instance, before any other task. Resolves with false when the instance is not idle, or the scheduler does
   *  not dispatch. */
  place(taskId: string, instanceId: string): Promise<boolean> {
    if (!this.#open) return Promise.resolve(false);
    return new Promise((settle) => {
      this.#placements.push({ taskId, instanceId, settle });
      this.wake();
    });
  }

  #refusePlacements(): void {
    for (const { settle } of this.#placements.splice(0)) settle(false);
  }

  get #open(): boolean {
    return this.#started && !this.#paused;
  }

  readonly onSignal: SignalListener = {
    WAITS: ({ tasks }) => {
      for (const task of tasks) if (this.#pools.add(task)) this.wake();
    },
    RETURNED: ({ taskId }) => {
      if (this.#started) this.#pools.recheck(taskId);
      // Without this, a hub that does not schedule would note each task and hardly ever look.
      else this.#pools.forget();
      this.wake();
    },
    WITHDRAWN: ({ taskId, from }) => {
      if ('groupId' in from) this.#pools.removeFrom({ taskId, groupId: from.groupId });
      else this.#pools.remove(taskId, from.requirement);
    },
    RESYNC: () => {
      this.#pools.forget();
      this.wake();
    },
  };

  /** Ids of the queue groups in which tasks may wait that one of these classes fits. Rejects as the store does. */
  async groupsFor(classes: readonly InstanceClass[]): Promise<number[]> {
    if (!this.#pools.isCurrent) await this.#pools.refresh();
    return this.#pools.groupsFor(classes);
  }

  /** Begins a round: something changed that may let a task start. */
  wake(): void {
    if (this.#open) this.#loop.wake();
  }

  async #pass(): Promise<number | undefined> {
    if (!this.#open) return undefined;
    try {
      if (await this.#round()) this.#loop.wake();
      return undefined;
    } catch (error) {
      this.#options.log.error({ err: error }, `dispatching failed; next try in ${RETRY_MS} ms`);
      return RETRY_MS;
    }
  }

  /** Dispatches the tasks that can be dispatched now; true when another round may find more. */
  async #round(): Promise<boolean> {
    const { instances, exclusions, runtime, log } = this.#options;
    if (this.#placements.length > 0) await this.#place(this.#placements.splice(0));
    if (instances.idle.size === 0) return false;
    if (!this.#pools.isCurrent) {
      await this.#pools.refresh();
      return true;
    }
    const { idle } = instances;
    const needed = this.#pools.neededFor(idle, exclusions.count + (this.#hasEnds ? HEADS_PASSED_OVER : 0));
    const unread = needed.filter(({ pool, count }) => !pool.heads.reaches(count));
    if (unread.length > 0) {
      for (const need of unread) await this.#pools.read(need);
      return true;
    }
    const pairings = this.#pair(needed, idle);
    const looksBeyond = this.#lookBeyond(needed, idle, pairings);
    if (pairings.length === 0) return looksBeyond;
    const startedAtMs = runtime.clock.nowMs();
    for (const { task } of pairings) this.#pools.removeFrom(task);
    const claimed = await this.#claim(pairings, startedAtMs);
    for (const task of claimed) this.#dispatch(task, startedAtMs);
    log.debug({ pools: needed.length, claimed: claimed.length }, 'round');
    return looksBeyond || claimed.length < pairings.length;
  }

  /** Claims tasks for the instances that are wanted for them, as far as these are idle. */
  async #place(placements: readonly Placement[]): Promise<void> {
    const { instances, transitions, runtime } = this.#options;
    const startedAtMs = runtime.clock.nowMs();
    const taken = new Set<string>();
    const claims = placements.flatMap(({ taskId, instanceId }) => {
      const instance = taken.has(instanceId) ? undefined : instances.idleInstance(instanceId);
      taken.add(instanceId);
      return instance ? [{ taskId, instance: executing(instance), startedAtMs }] : [];
    });
    const claimed = new Set<string>();
    try {
      const tasks = claims.length === 0 ? [] : await transitions.claim(claims, this.#term);
      for (const task of tasks) {
        claimed.add(task.ref.taskId);
        this.#dispatch(task, startedAtMs);
      }
    } finally {
      for (const { taskId, settle } of placements) settle(claimed.has(taskId));
    }
  }

  /** Whether a host with an end is known. */
  get #hasEnds(): boolean {
    const { hostEnds, instances } = this.#options;
    return hostEnds.count > 0 || instances.lentHosts > 0;
  }

  #pair(needed: readonly PoolNeed[], idle: IdleInstances): Pairing[] {
    const { exclusions, hostEnds } = this.#options;
    const pools = needed.map(({ pool: { fitting, heads } }) => ({ fitting, heads: heads.known }));
    if (exclusions.count === 0 && !this.#hasEnds) return pair(pools, idle);
    const permission: Permission = {
      isAllowed: (task, host) =>
        exclusions.isAllowed(task.taskId, host.agentId) && hostEnds.isAllowed(task, host),
      kindOf: ({ taskId, groupId, timeLimitS }) =>
        exclusions.of(taskId).length > 0 ? taskId : `${groupId} ${timeLimitS}`,
    };
    return pair(pools, idle, permission);
  }

  /** Looks for tasks behind those for which the hosts of all instances that are left have too little time; true when the next round may find some. */
  #lookBeyond(needed: readonly PoolNeed[], idle: IdleInstances, pairings: readonly Pairing[]): boolean {
    const left = this.#hasEnds ? classesLeft(idle, pairings) : [];
    let mayFind = false;
    for (const { pool } of needed) {
      const isLeft = left.some((instanceClass) => pool.fitting.has(instanceClass));
      if (this.#pools.lookBeyond(pool, isLeft)) mayFind = true;
    }
    return mayFind;
  }

  /** Claims the paired tasks. Those that the store refuses may have left the queue, or the store failed: they are looked up. */
  async #claim(pairings: readonly Pairing[], startedAtMs: number): Promise<ClaimedTask[]> {
    const taken = new Set<string>();
    try {
      const claimed = await this.#options.transitions.claim(
        pairings.map(({ task, instance }) => ({
          taskId: task.taskId,
          instance: executing(instance),
          startedAtMs,
        })),
        this.#term,
      );
      for (const { ref } of claimed) taken.add(ref.taskId);
      return claimed;
    } finally {
      for (const { task } of pairings) if (!taken.has(task.taskId)) this.#pools.recheck(task.taskId);
    }
  }

  #dispatch(task: ClaimedTask, startedAtMs: number): void {
    const { instances, signals, transitions, log } = this.#options;
    if (instances.reserve(task.ref, task.agentId)) {
      signals.tell({ kind: 'ASSIGNED', claimed: task, startedAtMs });
      return;
    }
    transitions.dispatchFailed(task, this.#term).catch((error: unknown) => {
      log.error({ err: error, ...task.ref }, 'a task that could not be dispatched could not be requeued');
    });
  }
}

/** Classes of idle instances that are not all paired. */
function classesLeft(idle: IdleInstances, pairings: readonly Pairing[]): InstanceClass[] {
  const paired = new Map<InstanceClass, number>();
  for (const { instance } of pairings)
    paired.set(instance.instanceClass, (paired.get(instance.instanceClass) ?? 0) + 1);
  return [...idle].flatMap(([instanceClass, { count }]) =>
    count > (paired.get(instanceClass) ?? 0) ? [instanceClass] : [],
  );
}

function executing({ profile, agentId }: IdleInstance) {
  return { id: profile.id, version: profile.version, revision: profile.revision, agentId };
}
