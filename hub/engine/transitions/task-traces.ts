/** Spans of a task: its wait for each attempt, and each attempt, below the request that created it. They are recorded at their
 *  end, from what the store holds, so that a restart of the hub in between changes nothing. */
import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import type { LossKind } from '../../core/attempt-consequences.js';
import type { SignalListener } from '../../core/ports/signals.js';
import type { ClaimedTask } from '../../core/ports/task-queue.js';
import type { TaskTracing } from '../../core/ports/tracing.js';
import type { Completion, Task } from '../../core/task.js';
import type { TaskSubscriber } from '../../core/task-events.js';

/** End of an attempt, with its task or without. */
export type AttemptEnd = Completion['status'] | 'CANCELED' | LossKind;

export class TaskTraces {
  readonly #tracing: TaskTracing;
  /** Start of the wait of requeued tasks. */
  readonly #waitingSince = new Map<string, number>();

  constructor(tracing: TaskTracing) {
    this.#tracing = tracing;
  }

  readonly onTask: TaskSubscriber = {
    STARTED: (event) => this.begun(event, event.startedAtMs),
    DISPATCH_FAILED: (event) => this.dispatchFailed(event),
    REQUEUED: ({ task, ref, loss, requeuedAtMs }) => this.released(task, ref, loss, requeuedAtMs),
    ENDED: ({ task, ref, ending, endedAtMs }) => this.ended(task, ref, ending.status, endedAtMs),
    CANCELED: ({ task, canceledAtMs }) => this.canceled(task, canceledAtMs),
  };

  /** Changes at other hubs. */
  readonly onSignal: SignalListener = {
    OCCUPIED: ({ ref }) => void this.#waitingSince.delete(ref.taskId),
    ENDED: ({ taskId }) => void this.#waitingSince.delete(taskId),
  };

  /** Trace context for the agent of the attempt; null when its trace is not kept. */
  contextOf({ ref, task: { traceContext } }: Pick<ClaimedTask, 'ref' | 'task'>): string | null {
    return traceContext === null ? null : this.#tracing.contextOf(traceContext, spanKey(ref));
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

  /** A claimed task could not be sent to its agent: its wait continues. */
  dispatchFailed({ ref, task }: Pick<ClaimedTask, 'ref' | 'task'>): void {
    const { traceContext, requestedAtMs } = task;
    if (traceContext === null) return;
    const since = this.#waitEnds(ref.taskId, ref.attempt, requestedAtMs);
    if (since !== undefined) this.#waitingSince.set(ref.taskId, since);
  }

  /** The task was requeued. */
  released(task: Task, ref: AttemptRef, loss: LossKind, atMs: number): void {
    if (task.traceContext === null) return;
    this.ended(task, ref, loss, atMs);
    this.#waitingSince.set(task.id, atMs);
  }

  /** The end of the attempt is durable. */
  ended(task: Task, ref: AttemptRef, end: AttemptEnd, endedAtMs: number): void {
    if (task.traceContext === null) return;
    this.#waitingSince.delete(task.id);
    this.#tracing.past({
      name: 'attempt',
      parent: task.traceContext,
      key: spanKey(ref),
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

  /** The cancel is durable. */
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

  /** Start of the wait; undefined when the hub was restarted during it. */
  #waitEnds(taskId: string, attempt: number, requestedAtMs: number): number | undefined {
    const since = this.#waitingSince.get(taskId);
    this.#waitingSince.delete(taskId);
    return since ?? (attempt === 1 ? requestedAtMs : undefined);
  }
}

function spanKey({ taskId, attempt, instanceId }: AttemptRef): string {
  return `attempt/${taskId}/${attempt}/${instanceId}`;
}

function waitKey(taskId: string, attempt: number): string {
  return `wait/${taskId}/${attempt}`;
}
