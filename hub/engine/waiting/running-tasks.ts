/** Expected ends of running tasks, by instance: in memory, and from the store for tasks that began before a restart. */
import { requirementKey } from '@workbench-hub/shared/domain/classifier';
import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { InstanceView } from '../../core/ports/nodes.js';
import type { SignalListener } from '../../core/ports/signals.js';
import type { RunningAttempt, TaskQueue } from '../../core/ports/task-queue.js';
import { type RunTimeBook, type RunTimes, runTimesKey } from '../../core/run-times.js';
import { attemptOf, type Task } from '../../core/task.js';
import type { TaskSubscriber } from '../../core/task-events.js';

export interface RunningTasksOptions {
  readonly queue: Pick<TaskQueue, 'runningOn'>;
  readonly runTimes: RunTimeBook;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

/** A task that this hub has seen to start. */
interface Started {
  readonly task: Task;
  readonly monotonicMs: number;
}

export class RunningTasks {
  readonly #options: RunningTasksOptions;
  readonly #byInstance = new Map<string, Started>();
  /** Ids of the instances of these tasks, by task. */
  readonly #instanceOf = new Map<string, string>();

  constructor(options: RunningTasksOptions) {
    this.#options = options;
  }

  readonly onTask: TaskSubscriber = {
    STARTED: ({ ref, task }) => {
      const { taskId, instanceId } = ref;
      const monotonicMs = this.#options.clock.monotonicMs();
      const before = this.#byInstance.get(instanceId);
      if (before) this.#instanceOf.delete(before.task.id);
      this.#forgetTask(taskId);
      this.#byInstance.set(instanceId, { task, monotonicMs });
      this.#instanceOf.set(taskId, instanceId);
    },
    ENDED: ({ ref }) => this.#forget(ref),
    REQUEUED: ({ ref }) => this.#forget(ref),
    CANCELED: ({ task }) => {
      if (task.instance) this.#forget({ taskId: task.id, instanceId: task.instance.id });
    },
  };

  /** Changes at other hubs. */
  readonly onSignal: SignalListener = {
    ENDED: ({ taskId }) => this.#forgetTask(taskId),
    RETURNED: ({ taskId }) => this.#forgetTask(taskId),
  };

  /** Forgets all tasks that do not run, after signals may have been lost. */
  compare(running: readonly RunningAttempt[]): void {
    const ids = new Set(running.map(({ ref }) => ref.taskId));
    for (const taskId of this.#instanceOf.keys()) if (!ids.has(taskId)) this.#forgetTask(taskId);
  }

  #forgetTask(taskId: string): void {
    const instanceId = this.#instanceOf.get(taskId);
    if (instanceId !== undefined) this.#forget({ taskId, instanceId });
  }

  #forget({ taskId, instanceId }: Pick<AttemptRef, 'taskId' | 'instanceId'>): void {
    if (this.#byInstance.get(instanceId)?.task.id !== taskId) return;
    this.#byInstance.delete(instanceId);
    this.#instanceOf.delete(taskId);
  }

  /** Run time of a task that ends now, which does not depend on changes of the wall clock; null when this process has not seen its start. */
  runTimeMs({ taskId, instanceId }: Pick<AttemptRef, 'taskId' | 'instanceId'>): number | null {
    const started = this.#byInstance.get(instanceId);
    return started?.task.id === taskId ? this.#options.clock.monotonicMs() - started.monotonicMs : null;
  }

  /** Working instances among these whose task may run for longer than `expected` says, or than similar tasks did. */
  async unforeseeable(
    instances: readonly InstanceView[],
    expected: RunTimes,
    nowMs: number,
  ): Promise<Set<string>> {
    const working = instances.filter((view) => view.working);
    const stored = await this.#stored(working.filter(({ profile }) => !this.#byInstance.has(profile.id)));
    return new Set(
      working
        .map(({ profile }) => profile.id)
        .filter((id) => {
          const task = this.#byInstance.get(id)?.task ?? stored.get(id);
          return !this.#isEndForeseeable(task, expected, nowMs);
        }),
    );
  }

  /** Tasks that run on the agents of these instances, by instance. */
  async #stored(instances: readonly InstanceView[]): Promise<Map<string, Task>> {
    const stored = new Map<string, Task>();
    for (const agentId of new Set(instances.map((view) => view.agentId))) {
      for (const task of await this.#options.queue.runningOn(agentId)) {
        const instanceId = attemptOf(task)?.instanceId;
        if (instanceId !== undefined) stored.set(instanceId, task);
      }
    }
    return stored;
  }

  /** An instance without a known task is about to be free: its task was canceled. */
  #isEndForeseeable(task: Task | undefined, expected: RunTimes, nowMs: number): boolean {
    if (!task || task.startedAtMs === null) return true;
    const { type, requirement, startedAtMs, timeLimitS } = task;
    const similar = this.#options.runTimes.of(statisticsKey({ type, requirement }));
    if (similar && nowMs - startedAtMs <= similar.highMs) return true;
    return timeLimitS !== null && startedAtMs + timeLimitS * 1000 <= nowMs + expected.highMs;
  }
}

/** Key of the run-time statistics of similar tasks. */
export function statisticsKey({ type, requirement }: Pick<Task, 'type' | 'requirement'>): string {
  return runTimesKey(type, requirementKey(requirement));
}
