/** Reading of the list columns from the database. */
import type { ColumnsRow } from '@workbench-hub/list-columns/rows';
import type { SqliteDatabase } from '../connection/database.js';

/** Statements that fill the columns. Many rows are returned as one, each column as JSON, in a third of the time; a range of
 *  the primary key is read in its order. */
export const SEGMENT_STATEMENTS = {
  newest: 'SELECT max(seq) FROM task',
  next: 'SELECT seq FROM task WHERE seq > ? ORDER BY seq LIMIT 1',
  chunk: `
    SELECT json_group_array(seq), json_group_array(id), json_group_array(type), json_group_array(status),
           json_group_array(priority), json_group_array(creator), json_group_array(name),
           json_group_array(instance_id), json_group_array(requested_at)
    FROM task WHERE seq > ? AND seq <= ?`,
};

type Columns = [
  seqs: number[],
  ids: string[],
  types: ColumnsRow['type'][],
  statuses: ColumnsRow['status'][],
  priorities: number[],
  creators: (string | null)[],
  names: (string | null)[],
  instanceIds: (string | null)[],
  requestTimes: number[],
];

/** Tasks held as objects at a time: few enough that the next minor garbage collection removes them. */
const ROWS_AT_ONCE = 256;

export class SegmentRows {
  readonly #newest;
  readonly #next;
  readonly #chunk;

  constructor(db: SqliteDatabase) {
    this.#newest = db.prepare<[], number | null>(SEGMENT_STATEMENTS.newest).pluck();
    this.#next = db.prepare<[number], number>(SEGMENT_STATEMENTS.next).pluck();
    this.#chunk = db.prepare<[number, number], string[]>(SEGMENT_STATEMENTS.chunk).raw();
  }

  /** Highest `seq`; 0 when there is no task. */
  newest(): number {
    return this.#newest.get() ?? 0;
  }

  /** Tasks with a `seq` above `after` and up to `last`, in order. */
  *between(after: number, last: number): Iterable<ColumnsRow> {
    for (let from = after; from < last; ) {
      const to = Math.min(from + ROWS_AT_ONCE, last);
      const columns = this.#chunk.get(from, to)?.map((column) => JSON.parse(column)) as Columns;
      const [seqs, ids, types, statuses, priorities, creators, names, instanceIds, requestTimes] = columns;
      for (const [at, seq] of seqs.entries()) {
        yield {
          seq,
          id: ids[at] as string,
          type: types[at] as ColumnsRow['type'],
          status: statuses[at] as ColumnsRow['status'],
          priority: priorities[at] as number,
          creator: creators[at] as string | null,
          name: names[at] as string | null,
          instanceId: instanceIds[at] as string | null,
          requestedAtMs: requestTimes[at] as number,
        };
      }
      // Skips ranges whose tasks were all removed.
      from = seqs.length > 0 ? to : (this.#next.get(to) ?? last + 1) - 1;
    }
  }
}
