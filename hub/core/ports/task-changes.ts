/**
 * Changes of tasks in their order, for those who follow them. Each change has a place in the order, its cursor, which is durable
 * and never used for another change. A change tells which task has changed; the task comes as it is when it is read, so several
 * changes of it may come as one. A reader that continues at a cursor misses no change, and may get some again.
 */
import type { Task } from '../task.js';

export interface TaskChange {
  /** Place after this change. */
  readonly cursor: string;
  readonly taskId: string;
  /** Null when it was removed. */
  readonly task: Task | null;
}

export interface ChangePage {
  /** In their order; each task at most once. */
  readonly changes: readonly TaskChange[];
  /** Place after the last of them. */
  readonly cursor: string;
  /** Whether no later change is durable yet. */
  readonly isLast: boolean;
}

export interface TaskChanges {
  /** The place after all durable changes. */
  latest(): Promise<string>;
  /** Durable changes after a place, at most about `limit`. Null when they cannot be told: the place is too old, of a
   *  database that was restored since, or malformed. */
  since(cursor: string, limit: number): Promise<ChangePage | null>;
  /** Calls `onChanges` when more changes are durable, until the returned function is called. While somebody watches, a change
   *  becomes durable within a fraction of a second. */
  watch(onChanges: () => void): () => void;
}
