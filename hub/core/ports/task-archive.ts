/** Reading and removal of tasks. Changes are durable when their promise resolves, and reject as those of `task-queue.ts` do. */
import type { FileRef, Job, NamedFileRef } from '@workbench-hub/shared/domain/job';
import type { TaskStatus } from '@workbench-hub/shared/domain/task';
import type { LossKind } from '../attempt-consequences.js';
import type { ExecutingInstance, Task, TaskFiles } from '../task.js';
import type { TaskFilter } from '../task-filter.js';

export type TaskOrder = 'NEWEST_FIRST' | 'NEXT_TO_RUN_FIRST' | 'LONGEST_RUNNING_FIRST';

export interface TaskQuery extends TaskFilter {
  /** Counted from 0. */
  readonly page: number;
  readonly size: number;
  /** Order by request time (default), position in the queue, or start time. The last is meant for running tasks: its cost
   *  grows with the number of matching tasks. */
  readonly order?: TaskOrder;
}

/** Tasks after another one, newest first. */
export interface TaskWindowQuery extends TaskFilter {
  /** The `next` of an earlier window; null to begin with the newest. */
  readonly after: string | null;
  readonly size: number;
}

export interface TaskWindow {
  readonly tasks: readonly Task[];
  /** Place after these tasks; null when there are no more. */
  readonly next: string | null;
  /** Number of tasks of each status that match but for their status. */
  readonly counts: Readonly<Record<TaskStatus, number>>;
}

export interface TaskPage {
  readonly tasks: readonly Task[];
  readonly totalElements: number;
}

/** An attempt that ended without ending its task. Times are milliseconds since 1970. */
export interface FormerAttempt {
  readonly attempt: number;
  readonly instance: ExecutingInstance;
  readonly startedAtMs: number | null;
  readonly endedAtMs: number | null;
  readonly loss: LossKind;
  readonly reason: string | null;
}

export interface TaskArchive {
  find(taskId: string): Promise<Task | undefined>;
  filesOf(taskId: string): Promise<TaskFiles>;
  /** Undefined when there is no such task. */
  jobOf(taskId: string): Promise<Job | undefined>;
  /** Checkpoint that the next attempt of the task gets; empty for none. */
  checkpointOf(taskId: string): Promise<NamedFileRef[]>;
  /** In their order. One that was adopted again is not among them. */
  formerAttempts(taskId: string): Promise<FormerAttempt[]>;
  /** The store may stop reading when the signal is aborted; then the promise rejects. */
  list(query: TaskQuery, signal?: AbortSignal): Promise<TaskPage>;
  /** The same for a window. Rejects with INVALID_INPUT for an invalid place. */
  window(query: TaskWindowQuery, signal?: AbortSignal): Promise<TaskWindow>;
  /** Tasks that have this content among their inputs, newest first. Looks at the newest 2000 references to it only; `isComplete` is
   *  false when there are more of these, or of the tasks. */
  withInput(
    content: FileRef,
    limit: number,
  ): Promise<{ readonly tasks: readonly Task[]; readonly isComplete: boolean }>;
  /** Removes ended tasks with their references. */
  remove(taskIds: readonly string[]): Promise<boolean[]>;
  /** Ids of tasks that ended before this time, oldest first. */
  endedBefore(timeMs: number, limit: number): Promise<string[]>;
}
