/**
 * Events of tasks. `hub/engine/transitions/task-transitions.ts` performs each transition and publishes its event; all parts that act on
 * transitions subscribe. Times are milliseconds since 1970 by the hub's clock.
 *
 * An event is published when its transition is durable, with two exceptions that the store's port names: ENQUEUED, so that
 * a task can start before its sync, and STARTED, since a claim is not synced by itself.
 */
import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import type { LossKind } from './attempt-consequences.js';
import type { WaitingTask } from './match-tasks.js';
import type { Completion, ExecutingInstance, Task } from './task.js';

/** New tasks can be claimed from now on. */
export interface TasksEnqueued {
  readonly type: 'ENQUEUED';
  readonly waiting: readonly WaitingTask[];
}

/** A new task is durable. */
export interface TaskCreated {
  readonly type: 'CREATED';
  readonly task: Task;
}

/** An attempt was sent to its agent. */
export interface AttemptStarted {
  readonly type: 'STARTED';
  readonly ref: AttemptRef;
  readonly agentId: string;
  /** The running task. */
  readonly task: Task;
  readonly startedAtMs: number;
}

/** An attempt was claimed, but its agent had disconnected: the task waits again at its old place. */
export interface DispatchFailed {
  readonly type: 'DISPATCH_FAILED';
  readonly ref: AttemptRef;
  readonly task: Task;
}

/** An agent holds the attempt, which is active: its task waited and runs again, or has run all along. */
export interface AttemptAdopted {
  readonly type: 'ADOPTED';
  readonly ref: AttemptRef;
  readonly instance: ExecutingInstance;
  /** Id of the queue group in which the task waited; null when it has run all along. */
  readonly dequeuedFrom: number | null;
  readonly adoptedAtMs: number;
}

/** The attempt was lost or returned, and the task waits again at its old place. */
export interface TaskRequeued {
  readonly type: 'REQUEUED';
  readonly ref: AttemptRef;
  /** The task as it ran. */
  readonly task: Task;
  readonly loss: LossKind;
  readonly requeuedAtMs: number;
}

/** The task has ended with its attempt. */
export interface TaskEnded {
  readonly type: 'ENDED';
  readonly ref: AttemptRef;
  /** The task as it ran. */
  readonly task: Task;
  readonly ending: Completion;
  /** Kind of loss of its last attempt; null for none. */
  readonly loss: LossKind | null;
  readonly endedAtMs: number;
}

/** The task was canceled while it waited or, by force, while it ran. */
export interface TaskCanceled {
  readonly type: 'CANCELED';
  /** The task as it is now; its `instance` is that of the attempt that has to be ended, if there is one. */
  readonly task: Task;
  readonly canceledAtMs: number;
}

/** The files of an attempt that was canceled by force were added to its task. */
export interface FilesKept {
  readonly type: 'FILES_KEPT';
  readonly ref: AttemptRef;
}

/** An ended task was removed, with its results. */
export interface TaskRemoved {
  readonly type: 'REMOVED';
  readonly taskId: string;
}

export type TaskEvent =
  | TasksEnqueued
  | TaskCreated
  | AttemptStarted
  | DispatchFailed
  | AttemptAdopted
  | TaskRequeued
  | TaskEnded
  | TaskCanceled
  | FilesKept
  | TaskRemoved;

type Handlers = {
  readonly [Type in TaskEvent['type']]: (event: Extract<TaskEvent, { readonly type: Type }>) => void;
};

/** Handlers of events. A handler acts synchronously, in memory, and performs no transition. */
export type TaskSubscriber = Partial<Handlers>;
