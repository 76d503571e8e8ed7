/** Reads from the database what the columns hold of tasks. */
import type { SqliteDatabase } from '../database.js';
import type { ColumnsRow } from './task-columns.js';

/** The statements that fill the columns. */
export const SEGMENT_STATEMENTS = {
  newest: 'SELECT max(seq) FROM task',
  next: 'SELECT seq FROM task WHERE seq > ? ORDER BY seq LIMIT 1',
  rows: 'SELECT seq, id, type, status, priority, creator, name FROM task WHERE seq > ? AND seq <= ? ORDER BY seq',
};

type Row = [
  seq: number,
  id: string,
  type: ColumnsRow['type'],
  status: ColumnsRow['status'],
  priority: number,
  creator: string | null,
  name: string | null,
];

/** So many tasks are held as objects at a time: few enough that none outlives the next look for rubbish. */
const ROWS_AT_ONCE = 256;

export class SegmentRows {
  readonly #newest;
  readonly #next;
  readonly #rows;

  constructor(db: SqliteDatabase) {
    this.#newest = db.prepare<[], number | null>(SEGMENT_STATEMENTS.newest).pluck();
    this.#next = db.prepare<[number], number>(SEGMENT_STATEMENTS.next).pluck();
    this.#rows = db.prepare<[number, number], Row>(SEGMENT_STATEMENTS.rows).raw();
  }

  /** The highest number of a task; 0 when there is none. */
  newest(): number {
    return this.#newest.get() ?? 0;
  }

  /** The first task after this one. */
  next(seq: number): number | undefined {
    return this.#next.get(seq);
  }

  /** The tasks after one number up to another, which is included. */
  *between(after: number, last: number): Iterable<ColumnsRow> {
    for (let from = after; from < last; from += ROWS_AT_ONCE) {
      const to = Math.min(from + ROWS_AT_ONCE, last);
      for (const [seq, id, type, status, priority, creator, name] of this.#rows.all(from, to)) {
        yield { seq, id, type, status, priority, creator, name };
      }
    }
  }
}
