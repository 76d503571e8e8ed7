/** What the hub's own thread and the thread of the lists say to each other. */
import type { TaskPage, TaskQuery } from '../../../core/ports/task-store.js';

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
  | ({ readonly kind: 'list'; readonly call: number; readonly query: TaskQuery } & Changes);

export type FromListThread =
  | { readonly kind: 'page'; readonly call: number; readonly page: TaskPage }
  | { readonly kind: 'failed'; readonly call: number; readonly error: unknown };
