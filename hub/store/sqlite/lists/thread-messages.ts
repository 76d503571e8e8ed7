/** Messages between the hub's main thread and the list thread. */
import type { TaskStatus } from '@workbench-hub/shared/domain/task';
import type { TaskQuery } from '../../../core/ports/task-archive.js';

/** A query of the list thread. */
export interface ListQuery extends TaskQuery {
  /** Set for a window: only tasks with a lower `seq`. Then `page` is 0. */
  readonly below?: number;
}

export interface ListThreadData {
  /** Path of the database. */
  readonly file: string;
}

/** Chunks of which tasks were added, changed or removed since the last list, all of it committed. */
export type ChangedChunks = readonly number[] | 'MANY';

export type ToListThread =
  | {
      readonly kind: 'list';
      readonly call: number;
      readonly query: ListQuery;
      readonly changed: ChangedChunks;
    }
  /** Nobody waits for this call any longer. */
  | { readonly kind: 'abandon'; readonly call: number };

export interface ListPage {
  /** Rows of the tasks as JSON. */
  readonly rows: string;
  readonly totalElements: number;
  /** For a window only. */
  readonly window?: {
    /** `seq` of the last task; null when there are no more. */
    readonly next: number | null;
    readonly counts: Readonly<Record<TaskStatus, number>>;
  };
}

export type FromListThread =
  | { readonly kind: 'page'; readonly call: number; readonly page: ListPage }
  | { readonly kind: 'failed'; readonly call: number; readonly error: unknown };
