/** What the hub's own thread and the thread of the lists say to each other. */
import type { TaskQuery } from '../../../core/ports/task-store.js';

export interface ListThreadData {
  /** The database. */
  readonly file: string;
}

/** Tasks whose row has changed since the last message, by `seq`; every such change is committed by then. New tasks are
 *  found without being told. */
interface Changes {
  readonly changed: Float64Array<ArrayBuffer>;
}

export type ToListThread =
  | ({ readonly kind: 'keep up' } & Changes)
  | ({
      readonly kind: 'list';
      readonly call: number;
      readonly asker: string;
      readonly query: TaskQuery;
    } & Changes)
  /** Nobody waits for the answer to this call any more. */
  | { readonly kind: 'abandon'; readonly call: number };

export interface ListPage {
  /** The rows of the tasks, a JSON text. */
  readonly rows: string;
  readonly totalElements: number;
}

export type FromListThread =
  | { readonly kind: 'page'; readonly call: number; readonly page: ListPage }
  | { readonly kind: 'failed'; readonly call: number; readonly error: unknown };
