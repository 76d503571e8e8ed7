/** Answers list queries from the columns, which it keeps in step with the database. It reads and never writes. */
import { PRIORITIES } from '@workbench-hub/shared/domain/priority';
import type { TaskQuery } from '../../../core/ports/task-store.js';
import type { SqliteDatabase } from '../database.js';
import { TASK_COLUMNS } from '../task-row.js';
import { SegmentRows } from './segment-rows.js';
import { type Selection, select } from './selection.js';
import type { TaskColumns, TaskKind } from './task-columns.js';
import type { ListPage } from './thread-messages.js';

/** Every statement that a list runs. None of them reads a task that it does not need: see their query plans in
 *  `npm run bench -- lists --plans`. Many rows come as one JSON text: row by row they would take five times as long to read,
 *  and three times as long to hand over to another thread. */
export const LIST_STATEMENTS = {
  kinds: `
    SELECT json_group_array(json_array(task.seq, type, status, priority))
    FROM (SELECT value AS seq FROM json_each(?)) AS wanted CROSS JOIN task ON task.seq = wanted.seq`,
  rows: `
    SELECT json_group_array(json_array(${TASK_COLUMNS})) FROM (SELECT value AS seq FROM json_each(?)) AS wanted
    CROSS JOIN task ON task.seq = wanted.seq JOIN requirement ON requirement.id = task.requirement_id`,
  byStart: `
    SELECT task.seq FROM json_each(?) AS wanted JOIN task ON task.seq = wanted.value
    ORDER BY started_at, task.seq LIMIT ? OFFSET ?`,
};

type Kind = [seq: number, type: TaskKind['type'], status: TaskKind['status'], priority: number];

export class ListReader {
  readonly #columns: TaskColumns;
  readonly #db: SqliteDatabase;
  readonly #rows: SegmentRows;
  readonly #kinds;
  readonly #rowsOf;
  readonly #byStart;

  constructor(db: SqliteDatabase, columns: TaskColumns) {
    this.#db = db;
    this.#columns = columns;
    this.#rows = new SegmentRows(db);
    this.#kinds = db.prepare<[string], string>(LIST_STATEMENTS.kinds).pluck();
    this.#rowsOf = db.prepare<[string], string>(LIST_STATEMENTS.rows).pluck();
    this.#byStart = db.prepare<[string, number, number], number>(LIST_STATEMENTS.byStart).pluck();
  }

  /** Takes in the tasks that are new, and these that have changed. */
  keepUp(changed: Float64Array): void {
    const known = Array.from(changed).filter((seq) => seq <= this.#columns.lastSeq);
    const kinds = this.#kindsOf(known);
    for (const seq of known) this.#columns.update(seq, kinds.get(seq));
    for (const row of this.#rows.between(this.#columns.lastSeq, this.#rows.newest())) this.#columns.add(row);
  }

  /** One page, all of it as the database is at one moment. */
  list(query: TaskQuery): ListPage {
    return this.#db.transaction(() => {
      this.keepUp(new Float64Array());
      for (;;) {
        const { count, seqs } = this.#select(query);
        const kinds = this.#kindsOf(seqs);
        // A task may have changed since the hub's thread sent the query. What the page shows fits the filter.
        const late = seqs.filter((seq) => !isWanted(kinds.get(seq), query));
        for (const seq of late) this.#columns.update(seq, kinds.get(seq));
        if (late.length > 0) continue;
        return { rows: this.#rowsOf.get(JSON.stringify(seqs)) ?? '[]', totalElements: count };
      }
    })();
  }

  /** What these tasks are now; those that are no more are left out. */
  #kindsOf(seqs: readonly number[]): ReadonlyMap<number, TaskKind> {
    const kinds = seqs.length === 0 ? '[]' : (this.#kinds.get(JSON.stringify(seqs)) ?? '[]');
    return new Map(
      (JSON.parse(kinds) as Kind[]).map(([seq, type, status, priority]) => [seq, { type, status, priority }]),
    );
  }

  #select(query: TaskQuery): Selection {
    const from = query.page * query.size;
    const to = from + query.size;
    if (query.order === 'NEXT_TO_RUN_FIRST') return this.#nextToRun(query, from, to);
    if (query.order === 'LONGEST_RUNNING_FIRST') {
      const all = select(this.#columns, query, {
        order: 'OLDEST_FIRST',
        from: 0,
        to: Number.POSITIVE_INFINITY,
      });
      const places = [
        Math.min(to, all.count) - Math.min(from, all.count),
        Math.min(from, all.count),
      ] as const;
      return { count: all.count, seqs: this.#byStart.all(JSON.stringify(all.seqs), ...places) };
    }
    return select(this.#columns, query, { order: 'NEWEST_FIRST', from, to });
  }

  /** One priority after the other, the highest first. */
  #nextToRun(query: TaskQuery, from: number, to: number): Selection {
    const seqs: number[] = [];
    let count = 0;
    for (const priority of query.priority ? [query.priority] : PRIORITIES) {
      const places = { order: 'OLDEST_FIRST', from: from - count, to: to - count } as const;
      const selection = select(this.#columns, { ...query, priority }, places);
      seqs.push(...selection.seqs);
      count += selection.count;
    }
    return { count, seqs };
  }
}

/** By what can change of a task. */
function isWanted(task: TaskKind | undefined, { statuses }: TaskQuery): boolean {
  return task !== undefined && (statuses.length === 0 || statuses.includes(task.status));
}
