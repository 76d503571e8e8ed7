/** Hosts that have given a task back for a fault of their own, a disk that is too small for it say. Such a host does not get
 *  the task again for a while, as long as another one might take it. Nothing of this is stored: after a restart of the hub
 *  the next try tells it anew. */
import { type Requirement, requirementKey } from '@workbench-hub/shared/domain/classifier';
import { fits } from '@workbench-hub/shared/domain/matching';
import type { Clock, Timer, Timers } from '@workbench-hub/shared/runtime/runtime';
import type { GiveBack } from '../core/explain.js';
import type { Task } from '../core/task.js';
import type { Instances } from './instances.js';

export interface GivenBackOptions {
  readonly instances: Instances;
  readonly clock: Clock;
  readonly timers: Timers;
  /** A host may get a task again. */
  readonly onExpired: () => void;
}

/** A disk that was full may have room by then. */
const HELD_BACK_MS = 600_000;

interface Held {
  readonly requirement: Requirement;
  readonly key: string;
  /** By agent. */
  readonly by: Map<string, GiveBack & { readonly timer: Timer }>;
}

export class GivenBack {
  readonly #options: GivenBackOptions;
  readonly #tasks = new Map<string, Held>();

  constructor(options: GivenBackOptions) {
    this.#options = options;
  }

  note({ id, requirement }: Task, agentId: string, reason: string): void {
    const { clock, timers } = this.#options;
    const held = this.#tasks.get(id) ?? { requirement, key: requirementKey(requirement), by: new Map() };
    this.#tasks.set(id, held);
    held.by.get(agentId)?.timer.cancel();
    const timer = timers.after(HELD_BACK_MS, () => {
      held.by.delete(agentId);
      if (held.by.size === 0) this.#tasks.delete(id);
      this.#options.onExpired();
    });
    held.by.set(agentId, { agentId, reason, atMs: clock.nowMs(), timer });
  }

  /** The task has ended. */
  forget(taskId: string): void {
    for (const { timer } of this.#tasks.get(taskId)?.by.values() ?? []) timer.cancel();
    this.#tasks.delete(taskId);
  }

  stop(): void {
    for (const taskId of [...this.#tasks.keys()]) this.forget(taskId);
  }

  get areNone(): boolean {
    return this.#tasks.size === 0;
  }

  /** How many tasks of this group some agent may not get. */
  countIn(key: string): number {
    let count = 0;
    for (const held of this.#tasks.values()) if (held.key === key) count++;
    return count;
  }

  /** Whether the agent may be given this task, which its instance fits. */
  readonly mayGet = (taskId: string, agentId: string): boolean => {
    const held = this.#tasks.get(taskId);
    if (!held?.by.has(agentId)) return true;
    return !this.#options.instances
      .list()
      .some(
        ({ profile, status, agentId: other }) =>
          status === 'UP' && !held.by.has(other) && fits(held.requirement, profile),
      );
  };

  /** Who has given this task back of late, and why. */
  of(taskId: string): GiveBack[] {
    return [...(this.#tasks.get(taskId)?.by.values() ?? [])].map(({ agentId, reason, atMs }) => ({
      agentId,
      reason,
      atMs,
    }));
  }
}
