/**
 * Gives waiting tasks to idle instances. It keeps the set of groups in which tasks may wait, never the tasks: one round
 * looks at the heads of the groups that an idle instance fits, pairs them, claims them in the store and hands them to
 * their agents. A round costs the same however many tasks wait, and however many groups there are that no known instance
 * fits.
 */
import { type Requirement, requirementOfKey } from '@workbench-hub/shared/domain/classifier';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { ClaimedTask, TaskQueue } from '../core/ports/task-store.js';
import { countFitting, type IdleInstance, type Pairing, pair } from '../core/rank.js';
import type { Instances } from './instances.js';

export interface SchedulerOptions {
  readonly queue: TaskQueue;
  readonly instances: Instances;
  readonly runtime: Runtime;
  readonly log: Logger;
  /** Hands a claimed task to its agent; false when the agent is gone meanwhile. */
  readonly assign: (task: ClaimedTask) => boolean;
  /** The attempt was claimed and could not be handed over. */
  readonly giveBack: (task: ClaimedTask) => void;
  /** A task has begun at this moment: it is with its agent. */
  readonly onBegun?: (task: ClaimedTask, startedAtMs: number) => void;
}

interface Group {
  readonly requirement: Requirement;
  /** Rises each time that a task is announced in it: tells whether one came while a round was under way. */
  announced: number;
}

/** After a fault of the store, how long until the next try. */
const RETRY_MS = 1000;

export class Scheduler {
  readonly #options: SchedulerOptions;
  /** The groups in which tasks may wait, by their key. */
  readonly #groups = new Map<string, Group>();
  /** Those that some known instance fits: the only ones that a round looks at. */
  readonly #fitting = new Map<string, Group>();
  /** Which instances were known when the groups were told apart. */
  #profilesVersion = -1;
  #announcements = 0;
  #running: Promise<void> | undefined;
  #wanted = false;
  #started = false;
  #paused = false;

  constructor(options: SchedulerOptions) {
    this.#options = options;
  }

  /** Learns what waits in the store, and begins. */
  async start(): Promise<void> {
    for (const key of await this.#options.queue.waitingGroups()) this.#note(key);
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

  /** A task waits in this group, durably. */
  announce(requirementKey: string): void {
    if (this.#note(requirementKey)) this.wake();
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

  /** One look at the queue; true when another may find more. */
  async #round(): Promise<boolean> {
    const { queue, instances, runtime } = this.#options;
    const idle = instances.idle();
    if (idle.length === 0) return false;

    const asked = this.#fittingGroups(idle);
    if (asked.length === 0) return false;
    const heads = await queue.heads(asked);
    const found = new Set(heads.map(({ requirementKey }) => requirementKey));
    for (const { requirementKey, announced } of asked) {
      if (!found.has(requirementKey) && this.#groups.get(requirementKey)?.announced === announced) {
        this.#groups.delete(requirementKey);
        this.#fitting.delete(requirementKey);
      }
    }

    const pairings = pair(heads, idle);
    if (pairings.length === 0) return false;
    const startedAtMs = runtime.clock.nowMs();
    const claimed = await queue.claim(
      pairings.map(({ task, instance }) => ({
        taskId: task.taskId,
        instance: executing(instance),
        startedAtMs,
      })),
    );
    for (const task of claimed) this.#handOver(task, startedAtMs);
    if (claimed.length < pairings.length) {
      const taken = new Set(claimed.map(({ ref }) => ref.taskId));
      const taskIds = pairings.map(({ task }) => task.taskId).filter((taskId) => !taken.has(taskId));
      this.#options.log.info(
        { step: 'claim', taskIds },
        'a step that tasks cannot take any more was refused',
      );
    }
    this.#options.log.debug({ heads: heads.length, claimed: claimed.length }, 'round');
    return claimed.length < pairings.length;
  }

  #fittingGroups(idle: readonly IdleInstance[]) {
    const asked: { requirementKey: string; limit: number; announced: number }[] = [];
    this.#tellApart();
    for (const [requirementKey, { requirement, announced }] of this.#fitting) {
      const limit = countFitting(requirement, idle);
      if (limit > 0) asked.push({ requirementKey, limit, announced });
    }
    return asked;
  }

  /** A task waits in this group; true when a known instance fits it. */
  #note(requirementKey: string): boolean {
    this.#tellApart();
    const known = this.#groups.get(requirementKey);
    const announced = ++this.#announcements;
    if (known) {
      known.announced = announced;
      return this.#fitting.has(requirementKey);
    }
    const group = { requirement: requirementOfKey(requirementKey), announced };
    this.#groups.set(requirementKey, group);
    return this.#place(requirementKey, group);
  }

  /** Looks at all groups anew, but only when instances have come, gone or changed. */
  #tellApart(): void {
    const { profilesVersion } = this.#options.instances;
    if (profilesVersion === this.#profilesVersion) return;
    this.#profilesVersion = profilesVersion;
    this.#fitting.clear();
    for (const [requirementKey, group] of this.#groups) this.#place(requirementKey, group);
  }

  #place(requirementKey: string, group: Group): boolean {
    if (!this.#options.instances.anyFits(group.requirement)) return false;
    this.#fitting.set(requirementKey, group);
    return true;
  }

  #handOver(task: ClaimedTask, startedAtMs: number): void {
    const { instances, assign, giveBack, onBegun } = this.#options;
    if (instances.occupy(task.ref, task.agentId)) {
      if (assign(task)) {
        onBegun?.(task, startedAtMs);
        return;
      }
      instances.vacate(task.agentId, task.ref);
    }
    giveBack(task);
  }
}

function executing({ profile, agentId }: Pairing['instance']) {
  return { id: profile.id, version: profile.version, revision: profile.revision, agentId };
}
