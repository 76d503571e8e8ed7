/**
 * Gives waiting tasks to idle instances. It keeps the groups in which tasks may wait, and of those that a known instance
 * fits the first few tasks: one round pairs these with the idle instances, claims them in the store and hands them to their
 * agents. The store is asked for the first tasks of a group when those known are used up. A round costs the same however
 * many tasks wait, and however many groups there are that no known instance fits.
 */
import { type Requirement, requirementKey, requirementOfKey } from '@workbench-hub/shared/domain/classifier';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { FittingClasses, IdleInstances, InstanceClass } from '../core/idle-instances.js';
import { countFitting, fittingClasses, type Pairing, pair, type WaitingTask } from '../core/match-tasks.js';
import type { ClaimedTask, TaskQueue } from '../core/ports/task-store.js';
import type { TaskSubscriber } from '../core/task-events.js';
import type { AgentExclusions } from './agent-exclusions.js';
import type { AgentSessions } from './agent-sessions.js';
import type { Instances } from './instances.js';
import { QueueHeadCache } from './queue-head-cache.js';
import type { TaskTransitions } from './task-transitions.js';

export interface SchedulerOptions {
  readonly queue: Pick<TaskQueue, 'waitingGroups' | 'heads'>;
  readonly transitions: Pick<TaskTransitions, 'claim' | 'started' | 'dispatchFailed'>;
  readonly sessions: Pick<AgentSessions, 'assign'>;
  readonly instances: Pick<Instances, 'idle' | 'classes' | 'classesVersion' | 'reserve' | 'release'>;
  readonly exclusions: Pick<AgentExclusions, 'areNone' | 'countIn' | 'mayGet'>;
  readonly runtime: Runtime;
  readonly log: Logger;
  /** How many first tasks of a group the store is asked for at a time. */
  readonly headsOfGroup?: number | undefined;
}

interface Group {
  readonly key: string;
  readonly requirement: Requirement;
  readonly heads: QueueHeadCache;
  /** Of the known instances. */
  suitable: FittingClasses;
}

const HEADS_OF_GROUP = 64;
/** Of all groups together: the more groups, the fewer of each, and at least one. */
const HEADS_OF_ALL = 10_000;

/** After a fault of the store, how long until the next try. */
const RETRY_MS = 1000;

export class Scheduler {
  readonly #options: SchedulerOptions;
  /** The groups in which tasks may wait, by their key. */
  readonly #groups = new Map<string, Group>();
  /** Those that some known instance fits: the only ones that a round looks at, and whose first tasks are kept. */
  readonly #fitting = new Set<Group>();
  /** Which kinds of instances were known when the groups were told apart. */
  #kindsVersion = -1;
  #running: Promise<void> | undefined;
  #wanted = false;
  #started = false;
  #paused = false;

  constructor(options: SchedulerOptions) {
    this.#options = options;
  }

  /** Learns what waits in the store, and begins. */
  async start(): Promise<void> {
    for (const key of await this.#options.queue.waitingGroups()) this.#groupOf(key).heads.forget();
    this.#started = true;
    this.wake();
  }

  /** Begins no further round; resolves when the one under way has ended. */
  async stop(): Promise<void> {
    this.#started = false;
    await this.#running;
  }

  /** Begins no further round until {@link resume}; what is announced meanwhile is kept. */
  pause(): void {
    this.#paused = true;
  }

  /** Goes on, unless it has not been started or was stopped. */
  resume(): void {
    this.#paused = false;
    this.wake();
  }

  get #open(): boolean {
    return this.#started && !this.#paused;
  }

  readonly onTask: TaskSubscriber = {
    ENQUEUED: ({ waiting }) => {
      for (const task of waiting) this.#enqueued(task);
    },
    REQUEUED: ({ task }) => this.#requeued(requirementKey(task.requirement)),
    DISPATCH_FAILED: ({ task }) => this.#requeued(requirementKey(task.requirement)),
    CANCELED: ({ task }) => this.#dequeued(requirementKey(task.requirement), task.id),
  };

  /** A new task waits: from now on, a look into the store shows it. */
  #enqueued(task: WaitingTask): void {
    const group = this.#groupOf(task.requirementKey);
    if (!this.#fitting.has(group)) return;
    group.heads.add(task, this.#headsLimit);
    this.wake();
  }

  /** A task of this group that was dispatched waits again. */
  #requeued(key: string): void {
    const group = this.#groupOf(key);
    group.heads.forget();
    if (this.#fitting.has(group)) this.wake();
  }

  /** A task that waited in this group does so no more. */
  #dequeued(key: string, taskId: string): void {
    this.#groups.get(key)?.heads.remove(taskId);
  }

  /** The groups in which tasks may wait that one of these kinds of instances fits. */
  groupsFor(kinds: readonly InstanceClass[]): string[] {
    this.#tellApart();
    return [...this.#fitting]
      .filter(({ suitable }) => kinds.some((kind) => suitable.has(kind)))
      .map(({ key }) => key);
  }

  /** Something changed that may let a task begin: an instance is idle, an agent came. */
  wake(): void {
    this.#wanted = true;
    if (this.#running || !this.#open) return;
    this.#running = this.#rounds().finally(() => {
      this.#running = undefined;
      if (this.#wanted && this.#open) this.wake();
    });
  }

  async #rounds(): Promise<void> {
    // What is announced together is looked at together.
    await Promise.resolve();
    while (this.#wanted && this.#open) {
      this.#wanted = false;
      try {
        if (await this.#round()) this.#wanted = true;
      } catch (error) {
        this.#options.log.error({ err: error }, `giving out tasks failed; next try in ${RETRY_MS} ms`);
        this.#options.runtime.timers.after(RETRY_MS, () => this.wake());
        return;
      }
    }
  }

  /** Gives out what can be given out now; true when another round may find more. */
  async #round(): Promise<boolean> {
    const { instances, exclusions, runtime, log } = this.#options;
    const { idle } = instances;
    if (idle.size === 0) return false;

    const { groups, unknown } = this.#groupsFor(idle);
    if (unknown.length > 0) {
      await this.#look(unknown);
      return true;
    }
    const mayGet = exclusions.areNone ? undefined : exclusions.mayGet;
    const pairings = pair(groups, idle, mayGet);
    if (pairings.length === 0) return false;
    const startedAtMs = runtime.clock.nowMs();
    for (const { task } of pairings) this.#dequeued(task.requirementKey, task.taskId);
    const claimed = await this.#claim(pairings, startedAtMs);
    for (const task of claimed) this.#handOver(task, startedAtMs);
    log.debug({ groups: groups.length, claimed: claimed.length }, 'round');
    return claimed.length < pairings.length;
  }

  /** The groups that some of these instances fit, and of which of them too few first tasks are known. */
  #groupsFor(idle: IdleInstances) {
    const { exclusions } = this.#options;
    this.#tellApart();
    const groups: { suitable: FittingClasses; heads: readonly WaitingTask[] }[] = [];
    const unknown: { group: Group; count: number }[] = [];
    for (const group of this.#fitting) {
      const { suitable, heads, key } = group;
      if (heads.areNone) {
        this.#groups.delete(key);
        this.#fitting.delete(group);
        continue;
      }
      const fitting = countFitting(suitable, idle);
      if (fitting === 0) continue;
      // Tasks that these instances may not get must not hide those behind them.
      const count = exclusions.areNone ? fitting : fitting + exclusions.countIn(key);
      if (heads.reaches(count)) groups.push({ suitable, heads: heads.known });
      else unknown.push({ group, count });
    }
    return { groups, unknown };
  }

  /** Asks the store for the first tasks of these groups: at least the count of each. */
  async #look(unknown: readonly { group: Group; count: number }[]): Promise<void> {
    const asked = unknown.map(({ group, count }) => ({
      requirementKey: group.key,
      limit: Math.max(count, this.#headsLimit),
      heads: group.heads,
      changes: group.heads.changes,
    }));
    const found = new Map<string, WaitingTask[]>();
    for (const head of await this.#options.queue.heads(asked)) {
      const ofGroup = found.get(head.requirementKey);
      if (ofGroup) ofGroup.push(head);
      else found.set(head.requirementKey, [head]);
    }
    for (const { requirementKey, limit, heads, changes } of asked) {
      heads.fill(found.get(requirementKey) ?? [], limit, changes);
    }
  }

  /** What the store refuses does not wait any more, or the store is at fault: the groups are looked at anew. */
  async #claim(pairings: readonly Pairing[], startedAtMs: number): Promise<ClaimedTask[]> {
    const taken = new Set<string>();
    try {
      const claimed = await this.#options.transitions.claim(
        pairings.map(({ task, instance }) => ({
          taskId: task.taskId,
          instance: executing(instance),
          startedAtMs,
        })),
      );
      for (const { ref } of claimed) taken.add(ref.taskId);
      return claimed;
    } finally {
      const refused = pairings.filter(({ task }) => !taken.has(task.taskId));
      for (const { task } of refused) this.#groupOf(task.requirementKey).heads.forget();
    }
  }

  get #headsLimit(): number {
    const { headsOfGroup = HEADS_OF_GROUP } = this.#options;
    return Math.max(1, Math.min(headsOfGroup, Math.floor(HEADS_OF_ALL / this.#fitting.size)));
  }

  /** The group of this key, which is a new one when nothing waited there. */
  #groupOf(key: string): Group {
    this.#tellApart();
    const known = this.#groups.get(key);
    if (known) return known;
    const heads = new QueueHeadCache(this.#started);
    const group: Group = { key, requirement: requirementOfKey(key), heads, suitable: new Map() };
    this.#groups.set(key, group);
    this.#place(group);
    return group;
  }

  /** Looks at all groups anew, but only when kinds of instances have come or gone. */
  #tellApart(): void {
    const { classesVersion } = this.#options.instances;
    if (classesVersion === this.#kindsVersion) return;
    this.#kindsVersion = classesVersion;
    this.#fitting.clear();
    for (const group of this.#groups.values()) this.#place(group);
  }

  #place(group: Group): void {
    group.suitable = fittingClasses(group.requirement, this.#options.instances.classes);
    if (group.suitable.size > 0) this.#fitting.add(group);
    else group.heads.forget();
  }

  #handOver(task: ClaimedTask, startedAtMs: number): void {
    const { instances, sessions, transitions, log } = this.#options;
    if (instances.reserve(task.ref, task.agentId)) {
      if (sessions.assign(task)) {
        transitions.started(task, startedAtMs);
        return;
      }
      instances.release(task.agentId, task.ref);
    }
    transitions.dispatchFailed(task).catch((error: unknown) => {
      log.error({ err: error, ...task.ref }, 'a task that could not be dispatched could not be requeued');
    });
  }
}

function executing({ profile, agentId }: Pairing['instance']) {
  return { id: profile.id, version: profile.version, revision: profile.revision, agentId };
}
