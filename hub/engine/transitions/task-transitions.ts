/**
 * Transitions of tasks are performed here only. Each method performs one transition of the state machine in
 * `core/task.ts`, fenced by the store, and publishes its event (`core/task-events.ts`). A transition that the store refuses,
 * because the task has changed its state, is logged and has no effect.
 */
import type { NamedFileRef } from '@workbench-hub/shared/domain/job';
import type { AttemptRef, TaskStatus } from '@workbench-hub/shared/domain/task';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { LossKind } from '../../core/attempt-consequences.js';
import type { NamedObject } from '../../core/ports/named-objects.js';
import type { TaskArchive } from '../../core/ports/task-archive.js';
import type {
  CanceledAttempt,
  Claim,
  ClaimedTask,
  HeldAttempt,
  SchedulerFence,
  TaskQueue,
} from '../../core/ports/task-queue.js';
import { type Completion, type NewTask, TASK_TRANSITIONS, type Task } from '../../core/task.js';
import type { TaskEvent, TaskSubscriber } from '../../core/task-events.js';

export interface TaskTransitionsOptions {
  readonly queue: Pick<
    TaskQueue,
    'insert' | 'insertOnce' | 'claim' | 'adopt' | 'end' | 'requeue' | 'cancel' | 'keepFiles'
  >;
  readonly archive: Pick<TaskArchive, 'find' | 'remove'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The end of a running task. */
export interface TaskEnd {
  /** The task as it ran. */
  readonly task: Task;
  readonly ref: AttemptRef;
  readonly ending: Completion;
  /** Kind of loss of the attempt; null for none. */
  readonly loss: LossKind | null;
  readonly endedAtMs: number;
  readonly storedFiles: readonly NamedObject[];
  readonly fence?: SchedulerFence | undefined;
}

/** A task whose attempt was lost or returned. */
export interface TaskRequeue {
  readonly task: Task;
  readonly ref: AttemptRef;
  readonly loss: LossKind;
  readonly reason: string | null;
  /** Checkpoint that takes the place of the task's; absent when that stays. */
  readonly checkpoint?: readonly NamedFileRef[] | undefined;
  readonly fence?: SchedulerFence | undefined;
}

/** All methods reject as the store does; then they had no effect. */
export class TaskTransitions {
  readonly #options: TaskTransitionsOptions;
  readonly #subscribers: TaskSubscriber[] = [];
  /** Handlers of the subscribers by type, as far as they were needed. */
  readonly #handlers = new Map<TaskEvent['type'], ((event: TaskEvent) => void)[]>();

  constructor(options: TaskTransitionsOptions) {
    this.#options = options;
  }

  /** Adds a subscriber; events reach subscribers in the order in which they were added. */
  subscribe(subscriber: TaskSubscriber): void {
    this.#subscribers.push(subscriber);
    this.#handlers.clear();
  }

  /** Enqueues a new task; resolves when it is durable. */
  async create(task: NewTask): Promise<void> {
    await this.#options.queue.insert([task], (waiting) => this.#publish({ type: 'ENQUEUED', waiting }));
    this.#publish({ type: 'CREATED', task });
  }

  /** Enqueues a new task unless its creator has used the key; resolves with the id of the task that has the key. */
  async createOnce(task: NewTask, key: string): Promise<string> {
    const { taskId } = await this.#options.queue.insertOnce(task, key, (waiting) =>
      this.#publish({ type: 'ENQUEUED', waiting }),
    );
    if (taskId === task.id) this.#publish({ type: 'CREATED', task });
    return taskId;
  }

  /** Claims waiting tasks for instances in this term of the scheduler; returns those that still waited. They are published as STARTED when they were sent to
   *  their agents: {@link started}. */
  async claim(claims: readonly Claim[], term: number): Promise<ClaimedTask[]> {
    const claimed = await this.#options.queue.claim(claims, term);
    if (claimed.length < claims.length) {
      const taken = new Set(claimed.map(({ ref }) => ref.taskId));
      const taskIds = claims.map(({ taskId }) => taskId).filter((taskId) => !taken.has(taskId));
      this.#options.log.info(
        { transition: 'claim', taskIds },
        'a transition that tasks no longer permit was refused',
      );
    }
    return claimed;
  }

  /** A claimed task was sent to its agent. */
  started({ ref, agentId, task }: ClaimedTask, startedAtMs: number): void {
    this.#publish({ type: 'STARTED', ref, agentId, task, startedAtMs });
  }

  /** Requeues a claimed task that could not be sent to its agent. `term`: that of the scheduler which found this. */
  async dispatchFailed({ ref, task }: ClaimedTask, term?: number): Promise<void> {
    const { queue, clock } = this.#options;
    const reason = 'the agent had disconnected before the attempt reached it';
    const fence = term === undefined ? undefined : { term };
    const [released] = await queue.requeue([
      { ref, loss: 'RETURN', reason, requeuedAtMs: clock.nowMs(), fence },
    ]);
    if (released) this.#publish({ type: 'DISPATCH_FAILED', ref, task });
  }

  /** Adopts attempts that an agent holds; true where the attempt is active afterwards. */
  async adopt(held: readonly HeldAttempt[]): Promise<boolean[]> {
    const adopted = await this.#options.queue.adopt(held);
    for (const [index, { ref, instance, startedAtMs }] of held.entries()) {
      const active = adopted[index];
      if (active) this.#publish({ type: 'ADOPTED', ref, instance, ...active, adoptedAtMs: startedAtMs });
    }
    return adopted.map((active) => active !== null);
  }

  /** Ends a running task; false when the attempt is not active. Calls `freed` as the queue does. */
  async end(
    { task, ref, ending, loss, endedAtMs, storedFiles, fence }: TaskEnd,
    freed?: () => void,
  ): Promise<boolean> {
    const { queue, log } = this.#options;
    const [ended] = await queue.end([{ ref, ending, endedAtMs, storedFiles, fence }], freed);
    if (!ended) return false;
    log.debug({ requestId: task.requestId, status: ending.status, ...ref }, 'task ended');
    this.#publish({ type: 'ENDED', ref, task, ending, loss, endedAtMs });
    return true;
  }

  /** Requeues a task; false when the attempt is not active. Calls `freed` as the queue does. */
  async requeue(
    { task, ref, loss, reason, checkpoint, fence }: TaskRequeue,
    freed?: () => void,
  ): Promise<boolean> {
    const { queue, clock, log } = this.#options;
    const requeuedAtMs = clock.nowMs();
    const [released] = await queue.requeue([{ ref, loss, reason, requeuedAtMs, checkpoint, fence }], freed);
    if (!released) return false;
    log.info({ ...ref, requestId: task.requestId, loss }, 'task requeued');
    this.#publish({ type: 'REQUEUED', ref, task, loss, requeuedAtMs });
    return true;
  }

  /** Cancels a task that waits or, by force, one that runs; false when it is in neither state. */
  async cancel(before: Task, force: boolean): Promise<boolean> {
    const { queue, clock } = this.#options;
    const from: readonly TaskStatus[] = (force ? TASK_TRANSITIONS.cancelByForce : TASK_TRANSITIONS.cancel)
      .from;
    const canceledAtMs = clock.nowMs();
    const [canceled] = await queue.cancel([before.id], from, canceledAtMs);
    if (!canceled) return false;
    this.#publish({ type: 'CANCELED', task: await this.#latest(before), canceledAtMs });
    return true;
  }

  /** Adds the files of the canceled attempt to its task; false when it has some, or the attempt is not its last. */
  async keepFiles(canceled: CanceledAttempt): Promise<boolean> {
    const [kept = false] = await this.#options.queue.keepFiles([canceled]);
    if (!kept) return false;
    this.#options.log.debug({ ...canceled.ref }, 'kept the files of a canceled task');
    this.#publish({ type: 'FILES_KEPT', ref: canceled.ref });
    return true;
  }

  /** Removes ended tasks with their results; true where the task was removed. */
  async remove(taskIds: readonly string[]): Promise<boolean[]> {
    const areRemoved = await this.#options.archive.remove(taskIds);
    for (const [index, taskId] of taskIds.entries()) {
      if (areRemoved[index]) this.#publish({ type: 'REMOVED', taskId });
    }
    return areRemoved;
  }

  /** The task as the store has it now: it may have been claimed since it was read. */
  async #latest(before: Task): Promise<Task> {
    try {
      return (await this.#options.archive.find(before.id)) ?? before;
    } catch (error) {
      // The cancel is durable nevertheless.
      this.#options.log.error({ err: error, taskId: before.id }, 'a canceled task could not be read');
      return before;
    }
  }

  #handlersOf(type: TaskEvent['type']): readonly ((event: TaskEvent) => void)[] {
    const known = this.#handlers.get(type);
    if (known) return known;
    const handlers = this.#subscribers.flatMap((subscriber) => {
      const handle = subscriber[type] as ((event: TaskEvent) => void) | undefined;
      return handle ? [handle] : [];
    });
    this.#handlers.set(type, handlers);
    return handlers;
  }

  #publish<Type extends TaskEvent['type']>(event: Extract<TaskEvent, { readonly type: Type }>): void {
    for (const handle of this.#handlersOf(event.type)) {
      try {
        handle(event);
      } catch (error) {
        // The other subscribers must not miss the event.
        this.#options.log.error({ err: error, event: event.type }, 'a subscriber failed on a task event');
      }
    }
  }
}
