/** Answers list queries from the columns, which it keeps in step with the database. It reads and never writes. */
import { PRIORITIES } from '@workbench-hub/shared/domain/priority';
import type { TaskPage, TaskQuery } from '../../../core/ports/task-store.js';
import type { SqliteDatabase } from '../database.js';
import { TASK_COLUMNS, TASK_TABLES, type TaskRow, taskOfRow } from '../task-row.js';
import { type Selection, select } from './selection.js';
import type { SharedColumns } from './shared-columns.js';
import type { TaskKind } from './task-columns.js';

/** Every statement that a list runs. None of them reads a task that it does not need: see their query plans in
 *  `npm run bench -- lists --plans`. */
export const LIST_STATEMENTS = {
  changed: 'SELECT type, status, priority FROM task WHERE seq = ?',
  page: `SELECT ${TASK_COLUMNS} FROM ${TASK_TABLES} WHERE task.seq = ?`,
  byStart: `
    SELECT task.seq FROM json_each(?) AS wanted JOIN task ON task.seq = wanted.value
    ORDER BY started_at, task.seq LIMIT ? OFFSET ?`,
};

export class ListReader {
  readonly #columns: SharedColumns;
  readonly #db: SqliteDatabase;
  readonly #changed;
  readonly #page;
  readonly #byStart;

  constructor(db: SqliteDatabase, columns: SharedColumns) {
    this.#db = db;
    this.#columns = columns;
    this.#changed = db.prepare<[number], TaskKind>(LIST_STATEMENTS.changed);
    this.#page = db.prepare<[number], TaskRow>(LIST_STATEMENTS.page).raw();
    this.#byStart = db.prepare<[string, number, number], number>(LIST_STATEMENTS.byStart).pluck();
  }

  /** Takes in the tasks that are new, and these that have changed. */
  keepUp(changed: Float64Array): void {
    for (const seq of changed) {
      if (seq <= this.#columns.lastSeq) this.#columns.update(seq, this.#changed.get(seq));
    }
    this.#columns.keepUp();
  }

  /** One page, all of it as the database is at one moment. */
  list(query: TaskQuery): TaskPage {
    return this.#db.transaction(() => {
      this.keepUp(new Float64Array());
      for (;;) {
        const { count, seqs } = this.#select(query);
        const rows = seqs.map((seq) => ({ seq, row: this.#page.get(seq) }));
        // A task may have changed since the hub's thread sent the query. What the page shows fits the filter.
        const late = rows.filter(({ row }) => !row || !isWanted(row, query));
        for (const { seq, row } of late) this.#columns.update(seq, row && kindOf(row));
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

function kindOf([, , type, status, priority]: TaskRow): TaskKind {
  return { type, status, priority };
}

/** By what can change of a task. */
function isWanted([, , , status]: TaskRow, { statuses }: TaskQuery): boolean {
  return statuses.length === 0 || statuses.includes(status);
}
