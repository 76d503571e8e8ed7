/** Answers list queries from the columns, which it keeps in step with the database. It reads and never writes. */
import { PRIORITIES } from '@workbench-hub/shared/domain/priority';
import type { TaskQuery } from '../../../core/ports/task-store.js';
import type { SqliteDatabase } from '../database.js';
import { TASK_COLUMNS } from '../task-row.js';
import { SegmentRows } from './segment-rows.js';
import { type ColumnsFilter, type Selection, select } from './selection.js';
import type { FilterSearch, SharedTexts } from './shared-texts.js';
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

/** A list that is being made. */
export interface ListUnderWay {
  readonly query: TaskQuery;
  /** Undefined when there is no text filter: then the list takes one turn. */
  readonly search: FilterSearch | undefined;
}

export class ListReader {
  readonly #columns: TaskColumns;
  readonly #texts: SharedTexts;
  readonly #db: SqliteDatabase;
  readonly #rows: SegmentRows;
  readonly #kinds;
  readonly #rowsOf;
  readonly #byStart;

  constructor(db: SqliteDatabase, columns: TaskColumns, texts: SharedTexts) {
    this.#db = db;
    this.#columns = columns;
    this.#texts = texts;
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

  begin(query: TaskQuery): ListUnderWay {
    return { query, search: hasTexts(query) ? this.#texts.searchBy(query) : undefined };
  }

  /** Works on a list for one turn; gives its page when nothing is left to search. */
  async goOn(list: ListUnderWay): Promise<ListPage | undefined> {
    const { search } = list;
    const unsearched = this.#columns.unsearched(filterOf(list));
    if (search && unsearched.length > 0) await this.#texts.goOn(search, unsearched);
    else if (!search || !this.#columns.searchGrowing(search)) return this.#page(list);
    return undefined;
  }

  /** One page, all of it as the database is at one moment; undefined when there is more to search by then. */
  #page(list: ListUnderWay): ListPage | undefined {
    const { query } = list;
    return this.#db.transaction(() => {
      this.keepUp(new Float64Array());
      while (this.#columns.unsearched(filterOf(list)).length === 0) {
        const { count, seqs } = this.#select(list);
        const kinds = this.#kindsOf(seqs);
        // A task may have changed since the hub's thread sent the query. What the page shows fits the filter.
        const late = seqs.filter((seq) => !isWanted(kinds.get(seq), query));
        for (const seq of late) this.#columns.update(seq, kinds.get(seq));
        if (late.length > 0) continue;
        return { rows: this.#rowsOf.get(JSON.stringify(seqs)) ?? '[]', totalElements: count };
      }
      return undefined;
    })();
  }

  /** What these tasks are now; those that are no more are left out. */
  #kindsOf(seqs: readonly number[]): ReadonlyMap<number, TaskKind> {
    const kinds = seqs.length === 0 ? '[]' : (this.#kinds.get(JSON.stringify(seqs)) ?? '[]');
    return new Map(
      (JSON.parse(kinds) as Kind[]).map(([seq, type, status, priority]) => [seq, { type, status, priority }]),
    );
  }

  #select(list: ListUnderWay): Selection {
    const { query } = list;
    const filter = filterOf(list);
    const from = query.page * query.size;
    const to = from + query.size;
    if (query.order === 'NEXT_TO_RUN_FIRST') return this.#nextToRun(filter, from, to);
    if (query.order === 'LONGEST_RUNNING_FIRST') {
      const all = select(this.#columns, filter, {
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
    return select(this.#columns, filter, { order: 'NEWEST_FIRST', from, to });
  }

  /** One priority after the other, the highest first. */
  #nextToRun(filter: ColumnsFilter, from: number, to: number): Selection {
    const seqs: number[] = [];
    let count = 0;
    for (const priority of filter.priority ? [filter.priority] : PRIORITIES) {
      const places = { order: 'OLDEST_FIRST', from: from - count, to: to - count } as const;
      const selection = select(this.#columns, { ...filter, priority }, places);
      seqs.push(...selection.seqs);
      count += selection.count;
    }
    return { count, seqs };
  }
}

function hasTexts({ id, name, creator }: TaskQuery): boolean {
  return id !== undefined || name !== undefined || creator !== undefined;
}

function filterOf({ query: { type, priority, statuses }, search }: ListUnderWay): ColumnsFilter {
  return { type, priority, statuses, search };
}

/** By what can change of a task. */
function isWanted(task: TaskKind | undefined, { statuses }: TaskQuery): boolean {
  return task !== undefined && (statuses.length === 0 || statuses.includes(task.status));
}
