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

/** `seq` of the tasks changed since the last message; every change is committed. New tasks are found without notice. */
interface Changes {
  readonly changed: Float64Array<ArrayBuffer>;
}

export type ToListThread =
  | ({ readonly kind: 'keep up' } & Changes)
  | ({
      readonly kind: 'list';
      readonly call: number;
      readonly client: string;
      readonly query: ListQuery;
    } & Changes)
  /** The client no longer waits for this call. */
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
