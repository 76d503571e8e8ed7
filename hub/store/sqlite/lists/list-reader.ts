/** Answers list queries from the columns, which it keeps in step with the database. It reads and never writes. */
import { PRIORITIES } from '@workbench-hub/shared/domain/priority';
import type { TaskPage, TaskQuery } from '../../../core/ports/task-store.js';
import type { SqliteDatabase } from '../database.js';
import { TASK_COLUMNS, TASK_TABLES, type TaskRow, taskOfRow } from '../task-row.js';
import { type ColumnsRow, type Selection, TaskColumns, type TaskKind } from './task-columns.js';

/** Every statement that a list runs. None of them reads a task that it does not need: see their query plans in
 *  `npm run bench -- lists --plans`. */
export const LIST_STATEMENTS = {
  added: `SELECT seq, id, type, status, priority, creator, name FROM task WHERE seq > ? ORDER BY seq LIMIT ?`,
  changed: 'SELECT type, status, priority FROM task WHERE seq = ?',
  page: `SELECT ${TASK_COLUMNS} FROM ${TASK_TABLES} WHERE task.seq = ?`,
  byStart: `
    SELECT task.seq FROM json_each(?) AS wanted JOIN task ON task.seq = wanted.value
    ORDER BY started_at, task.seq LIMIT ? OFFSET ?`,
};

/** Rows taken in at a time, so that the rest is not held in memory as objects. */
const TAKEN_AT_ONCE = 4096;

type AddedRow = [
  seq: number,
  id: string,
  type: ColumnsRow['type'],
  status: ColumnsRow['status'],
  priority: number,
  creator: string | null,
  name: string | null,
];

export class ListReader {
  readonly #columns = new TaskColumns();
  readonly #db: SqliteDatabase;
  readonly #added;
  readonly #changed;
  readonly #page;
  readonly #byStart;

  constructor(db: SqliteDatabase) {
    this.#db = db;
    this.#added = db.prepare<[number, number], AddedRow>(LIST_STATEMENTS.added).raw();
    this.#changed = db.prepare<[number], TaskKind>(LIST_STATEMENTS.changed);
    this.#page = db.prepare<[number], TaskRow>(LIST_STATEMENTS.page);
    this.#byStart = db.prepare<[string, number, number], number>(LIST_STATEMENTS.byStart).pluck();
  }

  /** Takes in the tasks that are new, and these that have changed. */
  keepUp(changed: Float64Array): void {
    for (const seq of changed) {
      if (seq <= this.#columns.lastSeq) this.#columns.update(seq, this.#changed.get(seq));
    }
    for (;;) {
      const rows = this.#added.all(this.#columns.lastSeq, TAKEN_AT_ONCE);
      for (const [seq, id, type, status, priority, creator, name] of rows) {
        this.#columns.add({ seq, id, type, status, priority, creator, name });
      }
      if (rows.length < TAKEN_AT_ONCE) return;
    }
  }

  /** One page, all of it as the database is at one moment. */
  list(query: TaskQuery): TaskPage {
    return this.#db.transaction(() => {
      this.keepUp(new Float64Array());
      for (;;) {
        const { count, seqs } = this.#select(query);
        const rows = seqs.map((seq) => ({ seq, row: this.#page.get(seq) }));
        // A task may have changed since the hub's thread sent the query. What the page shows fits the filter.
        const late = rows.filter(({ seq, row }) => this.#columns.update(seq, row));
        if (late.length > 0) continue;
        return {
          tasks: rows.flatMap(({ row }) => (row ? taskOfRow(row) : [])),
          totalElements: count,
        };
      }
    })();
  }

  #select(query: TaskQuery): Selection {
    const from = query.page * query.size;
    const to = from + query.size;
    if (query.order === 'NEXT_TO_RUN_FIRST') return this.#nextToRun(query, from, to);
    if (query.order === 'LONGEST_RUNNING_FIRST') {
      const all = this.#columns.select(query, {
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
    return this.#columns.select(query, { order: 'NEWEST_FIRST', from, to });
  }

  /** One priority after the other, the highest first. */
  #nextToRun(query: TaskQuery, from: number, to: number): Selection {
    const seqs: number[] = [];
    let count = 0;
    for (const priority of query.priority ? [query.priority] : PRIORITIES) {
      const places = { order: 'OLDEST_FIRST', from: from - count, to: to - count } as const;
      const selection = this.#columns.select({ ...query, priority }, places);
      seqs.push(...selection.seqs);
      count += selection.count;
    }
    return { count, seqs };
  }
}
