/** Exclusions: a task is not dispatched to an agent that returned it for a host fault, for a while, as long as another agent fits. */
import type { Requirement } from '@workbench-hub/shared/domain/classifier';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock, Timer, Timers } from '@workbench-hub/shared/runtime/runtime';
import type { InstanceClass } from '../../core/idle-instances.js';
import { fittingClasses } from '../../core/match-tasks.js';
import type { SignalListener, Signals } from '../../core/ports/signals.js';
import type { TaskExclusion, TaskExclusions } from '../../core/ports/task-exclusions.js';
import type { Task } from '../../core/task.js';
import type { Exclusion } from '../../core/wait-reason.js';
import type { Instances } from '../instances/instances.js';

export interface AgentExclusionsOptions {
  readonly store: TaskExclusions;
  readonly signals: Pick<Signals, 'tell'>;
  /** Lookups by instance class: the scheduler asks for each task and agent, so the cost must not grow with the instances. */
  readonly instances: Pick<Instances, 'agentsUp' | 'classes' | 'classesVersion'>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Logger;
}

/** A full disk may have space again by then. */
const EXCLUSION_MS = 600_000;

interface ExcludingTask {
  readonly requirement: Requirement;
  /** Exclusions by agent. */
  readonly by: Map<string, Exclusion & { readonly timer: Timer }>;
  /** Fitting classes, of those known at this version. */
  classes: { readonly version: number; readonly fitting: readonly InstanceClass[] } | undefined;
}

export class AgentExclusions {
  readonly #options: AgentExclusionsOptions;
  readonly #tasks = new Map<string, ExcludingTask>();
  /** Latest exclusions that have ended, by task and agent: rows may still have them when the clock was set back. */
  readonly #over = new Map<string, Map<string, number>>();
  readonly #expirySubscribers: (() => void)[] = [];
  #isStopped = false;

  constructor(options: AgentExclusionsOptions) {
    this.#options = options;
  }

  /** Adds a subscriber, which is called when an exclusion has ended. */
  onExpired(subscriber: () => void): void {
    this.#expirySubscribers.push(subscriber);
  }

  /** The agent has returned the task for a host fault. */
  note({ id: taskId, requirement }: Task, agentId: string, reason: string): void {
    const { store, signals, clock, log } = this.#options;
    const exclusion = { agentId, reason, atMs: clock.nowMs() };
    signals.tell({ kind: 'EXCLUDED', taskId, requirement, exclusion });
    store.put(taskId, exclusion).catch((error: unknown) => {
      log.error({ err: error, taskId, agentId }, 'the exclusion of an agent from a task could not be saved');
    });
  }

  /** Takes the exclusions of the store that are not known. Rejects as the store does. */
  async load(): Promise<void> {
    const { store, clock } = this.#options;
    const kept = await store.since(clock.nowMs() - EXCLUSION_MS);
    const tasks = new Set(kept.map(({ taskId }) => taskId));
    for (const taskId of this.#over.keys()) if (!tasks.has(taskId)) this.#over.delete(taskId);
    for (const excluded of kept) if (!this.#isKnown(excluded)) this.#exclude(excluded);
  }

  readonly onSignal: SignalListener = {
    EXCLUDED: (excluded) => this.#exclude(excluded),
    ENDED: ({ taskId }) => this.forget(taskId),
  };

  /** Whether it is known, or a later one of the same agent is that was told of while the rows were read. */
  #isKnown({ taskId, exclusion: { agentId, atMs } }: TaskExclusion): boolean {
    const known = this.#tasks.get(taskId)?.by.get(agentId)?.atMs;
    return (known !== undefined && known >= atMs) || this.#over.get(taskId)?.get(agentId) === atMs;
  }

  #exclude({ taskId, requirement, exclusion }: TaskExclusion): void {
    if (this.#isStopped) return;
    const { clock, timers } = this.#options;
    const { agentId, atMs } = exclusion;
    const excluding = this.#tasks.get(taskId) ?? this.#add(taskId, requirement);
    excluding.by.get(agentId)?.timer.cancel();
    // Not longer than that, even if the clock was set back.
    const delayMs = Math.min(EXCLUSION_MS, atMs + EXCLUSION_MS - clock.nowMs());
    const timer = timers.after(delayMs, () => {
      excluding.by.delete(agentId);
      if (excluding.by.size === 0) this.#tasks.delete(taskId);
      this.#over.set(taskId, (this.#over.get(taskId) ?? new Map<string, number>()).set(agentId, atMs));
      for (const subscriber of this.#expirySubscribers) subscriber();
    });
    excluding.by.set(agentId, { ...exclusion, timer });
  }

  /** The task has ended. */
  forget(taskId: string): void {
    for (const { timer } of this.#tasks.get(taskId)?.by.values() ?? []) timer.cancel();
    this.#tasks.delete(taskId);
    this.#over.delete(taskId);
  }

  stop(): void {
    this.#isStopped = true;
    for (const taskId of [...this.#tasks.keys()]) this.forget(taskId);
  }

  /** Number of tasks with an exclusion. */
  get count(): number {
    return this.#tasks.size;
  }

  /** Whether the task may be dispatched to this agent, of which an instance fits. */
  readonly isAllowed = (taskId: string, agentId: string): boolean => {
    const task = this.#tasks.get(taskId);
    return !task?.by.has(agentId) || !this.#mayGoElsewhere(task);
  };

  /** Exclusions of the task. */
  of(taskId: string): Exclusion[] {
    return [...(this.#tasks.get(taskId)?.by.values() ?? [])].map(({ agentId, reason, atMs }) => ({
      agentId,
      reason,
      atMs,
    }));
  }

  #add(taskId: string, requirement: Requirement): ExcludingTask {
    const task = { requirement, by: new Map(), classes: undefined };
    this.#tasks.set(taskId, task);
    return task;
  }

  /** Whether a fitting instance is up at an agent that has not returned the task. */
  #mayGoElsewhere(task: ExcludingTask): boolean {
    for (const instanceClass of this.#fittingClasses(task)) {
      for (const agentId of this.#options.instances.agentsUp(instanceClass))
        if (!task.by.has(agentId)) return true;
    }
    return false;
  }

  #fittingClasses(task: ExcludingTask): readonly InstanceClass[] {
    const { instances } = this.#options;
    const version = instances.classesVersion;
    if (task.classes?.version !== version) {
      task.classes = { version, fitting: [...fittingClasses(task.requirement, instances.classes).keys()] };
    }
    return task.classes.fitting;
  }
}
