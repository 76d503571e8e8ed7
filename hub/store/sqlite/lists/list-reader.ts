/** Answers list queries from the columns, which it keeps in step with the database. It reads and never writes. */
import type { TaskPage, TaskQuery } from '../../../core/ports/task-store.js';
import type { SqliteDatabase } from '../database.js';
import { TASK_COLUMNS, TASK_TABLES, type TaskRow, taskOfRow } from '../task-row.js';
import { type ColumnsRow, type Matches, TaskColumns, type TaskKind } from './task-columns.js';

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
        const matches = this.#columns.matching(query);
        const rows = this.#cut(matches, query).map((seq) => ({ seq, row: this.#page.get(seq) }));
        // A task may have changed since the hub's thread sent the query. What the page shows fits the filter.
        const late = rows.filter(({ seq, row }) => this.#columns.update(seq, row));
        if (late.length > 0) continue;
        return {
          tasks: rows.flatMap(({ row }) => (row ? taskOfRow(row) : [])),
          totalElements: matches.count,
        };
      }
    })();
  }

  #cut(matches: Matches, { page, size, order }: TaskQuery): number[] {
    const { count, seqs } = matches;
    const from = Math.min(page * size, count);
    const to = Math.min(from + size, count);
    if (order === 'NEXT_TO_RUN_FIRST') return nextToRun(matches, from, to);
    if (order === 'LONGEST_RUNNING_FIRST') {
      return this.#byStart.all(JSON.stringify(Array.from(seqs.subarray(0, count))), to - from, from);
    }
    return Array.from(seqs.subarray(count - to, count - from)).reverse();
  }
}

/** The matches from one place to another when the highest priority comes first. */
function nextToRun({ count, seqs, priorities }: Matches, from: number, to: number): number[] {
  const chosen: number[] = [];
  let place = 0;
  for (let priority = 0; place < to && place < count; priority++) {
    for (let at = 0; at < count && place < to; at++) {
      if (priorities[at] !== priority) continue;
      if (place >= from) chosen.push(seqs[at] as number);
      place++;
    }
  }
  return chosen;
}
