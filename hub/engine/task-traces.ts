/** What traces tell of a task: how long it waited for each attempt, and each attempt. Both follow from the request that created
 *  it. Spans are told of when they are over, from what the store holds, so that a restart of the hub in between changes nothing. */
import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import type { ClaimedTask } from '../core/ports/task-store.js';
import type { TaskTracing } from '../core/ports/tracing.js';
import type { LossKind } from '../core/report-consequences.js';
import type { Completion, Task } from '../core/task.js';
import type { TaskSubscriber } from '../core/task-events.js';

/** How an attempt ended: its task with it, or not. */
export type AttemptEnd = Completion['status'] | 'CANCELED' | LossKind;

export class TaskTraces {
  readonly #tracing: TaskTracing;
  /** Since when tasks wait that were given out before. */
  readonly #waitingSince = new Map<string, number>();

  constructor(tracing: TaskTracing) {
    this.#tracing = tracing;
  }

  readonly onTask: TaskSubscriber = {
    STARTED: (event) => this.begun(event, event.startedAtMs),
    DISPATCH_FAILED: (event) => this.putBack(event),
    REQUEUED: ({ task, ref, loss, requeuedAtMs }) => this.released(task, ref, loss, requeuedAtMs),
    ENDED: ({ task, ref, ending, endedAtMs }) => this.ended(task, ref, ending.status, endedAtMs),
    CANCELED: ({ task, canceledAtMs }) => this.canceled(task, canceledAtMs),
  };

  /** What the attempt is called to its agent; null when its trace is not kept. */
  contextOf({ ref, task: { traceContext } }: Pick<ClaimedTask, 'ref' | 'task'>): string | null {
    return traceContext === null ? null : this.#tracing.contextOf(traceContext, attemptKey(ref));
  }

  /** The task is with its agent. */
  begun({ ref, task }: Pick<ClaimedTask, 'ref' | 'task'>, startedAtMs: number): void {
    const { traceContext, priority, requestedAtMs } = task;
    if (traceContext === null) return;
    const { taskId, attempt } = ref;
    const since = this.#waitEnds(taskId, attempt, requestedAtMs);
    if (since === undefined) return;
    this.#tracing.past({
      name: 'queue wait',
      parent: traceContext,
      key: waitKey(taskId, attempt),
      beganAtMs: since,
      endedAtMs: startedAtMs,
      outcome: 'OK',
      attributes: {
        'workbench.task.id': taskId,
        'workbench.attempt': attempt,
        'workbench.priority': priority,
      },
    });
  }

  /** It was claimed and could not be handed over: it waits on. */
  putBack({ ref, task }: Pick<ClaimedTask, 'ref' | 'task'>): void {
    const { traceContext, requestedAtMs } = task;
    if (traceContext === null) return;
    const since = this.#waitEnds(ref.taskId, ref.attempt, requestedAtMs);
    if (since !== undefined) this.#waitingSince.set(ref.taskId, since);
  }

  /** The attempt has come to nothing, and the task waits again. */
  released(task: Task, ref: AttemptRef, loss: LossKind, atMs: number): void {
    if (task.traceContext === null) return;
    this.ended(task, ref, loss, atMs);
    this.#waitingSince.set(task.id, atMs);
  }

  /** The attempt has ended, durably. */
  ended(task: Task, ref: AttemptRef, end: AttemptEnd, endedAtMs: number): void {
    if (task.traceContext === null) return;
    this.#waitingSince.delete(task.id);
    this.#tracing.past({
      name: 'attempt',
      parent: task.traceContext,
      key: attemptKey(ref),
      beganAtMs: task.startedAtMs ?? endedAtMs,
      endedAtMs,
      outcome: end === 'FINISHED' ? 'OK' : 'ERROR',
      attributes: {
        'workbench.task.id': ref.taskId,
        'workbench.attempt': ref.attempt,
        'workbench.instance.id': ref.instanceId,
        'workbench.agent.id': task.instance?.agentId ?? '',
        'workbench.outcome': end,
      },
    });
  }

  /** The task was canceled, durably. */
  canceled(task: Task, endedAtMs: number): void {
    if (task.traceContext === null) return;
    const { startedAtMs, instance } = task;
    if (startedAtMs !== null && instance) {
      const ref = { taskId: task.id, attempt: task.attempt, instanceId: instance.id };
      this.ended(task, ref, 'CANCELED', endedAtMs);
      return;
    }
    const attempt = task.attempt + 1;
    const since = this.#waitEnds(task.id, attempt, task.requestedAtMs);
    if (since === undefined) return;
    this.#tracing.past({
      name: 'queue wait',
      parent: task.traceContext,
      key: waitKey(task.id, attempt),
      beganAtMs: since,
      endedAtMs,
      outcome: 'ERROR',
      attributes: {
        'workbench.task.id': task.id,
        'workbench.priority': task.priority,
        'workbench.outcome': 'CANCELED',
      },
    });
  }

  /** Undefined when it waited through a restart of the hub, and nobody knows since when. */
  #waitEnds(taskId: string, attempt: number, requestedAtMs: number): number | undefined {
    const since = this.#waitingSince.get(taskId);
    this.#waitingSince.delete(taskId);
    return since ?? (attempt === 1 ? requestedAtMs : undefined);
  }
}

function attemptKey({ taskId, attempt, instanceId }: AttemptRef): string {
  return `attempt/${taskId}/${attempt}/${instanceId}`;
}

function waitKey(taskId: string, attempt: number): string {
  return `wait/${taskId}/${attempt}`;
}
