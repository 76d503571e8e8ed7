/** Reading and removal of tasks. Changes are durable when their promise resolves, and reject as those of `task-queue.ts` do. */
import type { Priority } from '@workbench-hub/shared/domain/priority';
import type { TaskStatus, TaskType } from '@workbench-hub/shared/domain/task';
import type { Task, TaskFiles } from '../task.js';

export type TaskOrder = 'NEWEST_FIRST' | 'NEXT_TO_RUN_FIRST' | 'LONGEST_RUNNING_FIRST';

export interface TaskQuery {
  /** Counted from 0. */
  readonly page: number;
  readonly size: number;
  /** `id`, `name` and `creator` may hold wildcards; `name` is compared without regard to case. */
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly creator?: string | undefined;
  readonly type?: TaskType | undefined;
  readonly priority?: Priority | undefined;
  /** Any of these statuses; empty for all. */
  readonly statuses: readonly TaskStatus[];
  /** Order by request time (default), position in the queue, or start time. The last is meant for running tasks: its cost
   *  grows with the number of matching tasks. */
  readonly order?: TaskOrder;
}

/** Client of a list. Clients have equal shares of the time for lists. */
export interface ListClient {
  readonly name: string;
  /** Aborted when the client no longer waits. */
  readonly signal: AbortSignal;
}

export interface TaskPage {
  readonly tasks: readonly Task[];
  readonly totalElements: number;
}

export interface TaskArchive {
  find(taskId: string): Promise<Task | undefined>;
  filesOf(taskId: string): Promise<TaskFiles>;
  /** Without a client for the hub itself. Rejects with OVERLOADED when too many lists of this client, or of all, are pending,
   *  and with INVALID_INPUT when the client has gone. */
  list(query: TaskQuery, client?: ListClient): Promise<TaskPage>;
  /** Removes ended tasks with their references. */
  remove(taskIds: readonly string[]): Promise<boolean[]>;
  /** Ids of tasks that ended before this time, oldest first. */
  endedBefore(timeMs: number, limit: number): Promise<string[]>;
}
