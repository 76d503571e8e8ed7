/** Hosts that have given a task back for a fault of their own, a disk that is too small for it say. Such a host does not get
 *  the task again for a while, as long as another one might take it. Nothing of this is stored: after a restart of the hub
 *  the next try tells it anew. */
import type { Requirement } from '@workbench-hub/shared/domain/classifier';
import type { Clock, Timer, Timers } from '@workbench-hub/shared/runtime/runtime';
import type { Exclusion } from '../core/explain.js';
import type { InstanceClass } from '../core/idle-instances.js';
import { fittingClasses } from '../core/match-tasks.js';
import type { Task } from '../core/task.js';
import type { TaskSubscriber } from '../core/task-events.js';
import type { Instances } from './instances.js';

export interface AgentExclusionsOptions {
  /** By instanceClass: the scheduler asks for each task and agent, so nothing here may cost more with more instances. */
  readonly instances: Pick<Instances, 'agentsUp' | 'classes' | 'classesVersion'>;
  readonly clock: Clock;
  readonly timers: Timers;
}

/** A disk that was full may have room by then. */
const HELD_BACK_MS = 600_000;

interface Held {
  readonly requirement: Requirement;
  /** By agent. */
  readonly by: Map<string, Exclusion & { readonly timer: Timer }>;
  /** That suit the task, of those known at this version of the classes. */
  classes: { readonly version: number; readonly suitable: readonly InstanceClass[] } | undefined;
}

export class AgentExclusions {
  readonly #options: AgentExclusionsOptions;
  readonly #tasks = new Map<string, Held>();
  readonly #expirySubscribers: (() => void)[] = [];

  constructor(options: AgentExclusionsOptions) {
    this.#options = options;
  }

  /** Adds a subscriber, which hears when a host may get a task again. */
  onExpired(subscriber: () => void): void {
    this.#expirySubscribers.push(subscriber);
  }

  note({ id, requirement }: Task, agentId: string, reason: string): void {
    const { clock, timers } = this.#options;
    const held = this.#tasks.get(id) ?? this.#hold(id, requirement);
    held.by.get(agentId)?.timer.cancel();
    const timer = timers.after(HELD_BACK_MS, () => {
      held.by.delete(agentId);
      if (held.by.size === 0) this.#tasks.delete(id);
      for (const subscriber of this.#expirySubscribers) subscriber();
    });
    held.by.set(agentId, { agentId, reason, atMs: clock.nowMs(), timer });
  }

  readonly onTask: TaskSubscriber = {
    ENDED: ({ task }) => this.forget(task.id),
    CANCELED: ({ task }) => this.forget(task.id),
  };

  /** The task has ended. */
  forget(taskId: string): void {
    for (const { timer } of this.#tasks.get(taskId)?.by.values() ?? []) timer.cancel();
    this.#tasks.delete(taskId);
  }

  stop(): void {
    for (const taskId of [...this.#tasks.keys()]) this.forget(taskId);
  }

  /** Number of tasks that some agent may not get. */
  get count(): number {
    return this.#tasks.size;
  }

  /** Whether the agent may be given this task, which its instance fits. */
  readonly mayGet = (taskId: string, agentId: string): boolean => {
    const held = this.#tasks.get(taskId);
    return !held?.by.has(agentId) || !this.#mightGoElsewhere(held);
  };

  /** Who has given this task back of late, and why. */
  of(taskId: string): Exclusion[] {
    return [...(this.#tasks.get(taskId)?.by.values() ?? [])].map(({ agentId, reason, atMs }) => ({
      agentId,
      reason,
      atMs,
    }));
  }

  #hold(taskId: string, requirement: Requirement): Held {
    const held = { requirement, by: new Map(), classes: undefined };
    this.#tasks.set(taskId, held);
    return held;
  }

  /** Whether an instance that suits the task is up with an agent that has not given it back. */
  #mightGoElsewhere(held: Held): boolean {
    for (const instanceClass of this.#suitableFor(held)) {
      for (const agentId of this.#options.instances.agentsUp(instanceClass))
        if (!held.by.has(agentId)) return true;
    }
    return false;
  }

  #suitableFor(held: Held): readonly InstanceClass[] {
    const { instances } = this.#options;
    const version = instances.classesVersion;
    if (held.classes?.version !== version) {
      held.classes = { version, suitable: [...fittingClasses(held.requirement, instances.classes).keys()] };
    }
    return held.classes.suitable;
  }
}
