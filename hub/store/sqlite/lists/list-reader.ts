/** Answers list queries from the columns and keeps them in step with the database, which it only reads. */
import type { ListColumns } from '@workbench-hub/list-columns/list-columns';
import type { ColumnsFilter, FilterSearch, Selection, TaskState } from '@workbench-hub/list-columns/rows';
import { PRIORITIES } from '@workbench-hub/shared/domain/priority';
import type { SqliteDatabase } from '../connection/database.js';
import { TASK_COLUMNS } from '../rows/task-columns.js';
import { SegmentRows } from './segment-rows.js';
import type { ListPage, ListQuery } from './thread-messages.js';

/** All statements of lists. None reads a task that it does not need (`npm run bench -- lists --plans` shows their plans).
 *  Many rows are returned as one JSON text, which is read in a fifth of the time and passed to another thread in a third. */
export const LIST_STATEMENTS = {
  kinds: `
    SELECT json_group_array(json_array(task.seq, type, status, priority, instance_id))
    FROM (SELECT value AS seq FROM json_each(?)) AS wanted CROSS JOIN task ON task.seq = wanted.seq`,
  rows: `
    SELECT json_group_array(json_array(${TASK_COLUMNS})) FROM (SELECT value AS seq FROM json_each(?)) AS wanted
    CROSS JOIN task ON task.seq = wanted.seq JOIN requirement ON requirement.id = task.requirement_id`,
  byStart: `
    SELECT task.seq FROM json_each(?) AS wanted JOIN task ON task.seq = wanted.value
    ORDER BY started_at, task.seq LIMIT ? OFFSET ?`,
};

type Kind = [
  seq: number,
  type: TaskState['type'],
  status: TaskState['status'],
  priority: number,
  instanceId: string | null,
];

/** A list in progress. */
export interface ListUnderWay {
  readonly query: ListQuery;
  /** Undefined without a text filter: then the list takes one turn. */
  readonly search: FilterSearch | undefined;
}

export class ListReader {
  readonly #columns: ListColumns;
  readonly #db: SqliteDatabase;
  readonly #rows: SegmentRows;
  readonly #kinds;
  readonly #rowsOf;
  readonly #byStart;

  constructor(db: SqliteDatabase, columns: ListColumns) {
    this.#db = db;
    this.#columns = columns;
    this.#rows = new SegmentRows(db);
    this.#kinds = db.prepare<[string], string>(LIST_STATEMENTS.kinds).pluck();
    this.#rowsOf = db.prepare<[string], string>(LIST_STATEMENTS.rows).pluck();
    this.#byStart = db.prepare<[string, number, number], number>(LIST_STATEMENTS.byStart).pluck();
  }

  /** Adds new tasks and updates the changed ones. */
  keepUp(changed: Float64Array): void {
    const known = Array.from(changed).filter((seq) => seq <= this.#columns.lastSeq);
    const kinds = this.#kindsOf(known);
    for (const seq of known) this.#columns.update(seq, kinds.get(seq));
    for (const row of this.#rows.between(this.#columns.lastSeq, this.#rows.newest())) this.#columns.add(row);
  }

  begin(query: ListQuery): ListUnderWay {
    return { query, search: hasTexts(query) ? this.#columns.searchBy(query) : undefined };
  }

  /** Works on a list for one turn; resolves with its page when nothing is left to search. */
  async goOn(list: ListUnderWay): Promise<ListPage | undefined> {
    return (await this.#columns.searchForOneTurn(searchedBy(list))) ? undefined : this.#page(list);
  }

  /** One page from one state of the database; undefined when there is more to search by then. */
  #page(list: ListUnderWay): ListPage | undefined {
    const { query } = list;
    return this.#db.transaction(() => {
      this.keepUp(new Float64Array());
      while (this.#columns.isSearched(searchedBy(list))) {
        const { count, seqs } = this.#select(list);
        const kinds = this.#kindsOf(seqs);
        // A task may have changed since the query was sent; the page shows only tasks that match now.
        const outdated = seqs.filter((seq) => !isWanted(kinds.get(seq), query));
        for (const seq of outdated) this.#columns.update(seq, kinds.get(seq));
        if (outdated.length > 0) continue;
        return this.#pageOf(list, seqs, count);
      }
      return undefined;
    })();
  }

  #pageOf(list: ListUnderWay, seqs: readonly number[], totalElements: number): ListPage {
    const { below, size } = list.query;
    const rowsOf = (shown: readonly number[]) => this.#rowsOf.get(JSON.stringify(shown)) ?? '[]';
    if (below === undefined) return { rows: rowsOf(seqs), totalElements };
    const shown = seqs.slice(0, size);
    const next = seqs.length > size ? (shown.at(-1) ?? null) : null;
    const counts = this.#columns.countsByStatus(filterOf(list));
    return { rows: rowsOf(shown), totalElements, window: { next, counts } };
  }

  /** Present states of these tasks; removed ones are left out. */
  #kindsOf(seqs: readonly number[]): ReadonlyMap<number, TaskState> {
    const kinds = seqs.length === 0 ? '[]' : (this.#kinds.get(JSON.stringify(seqs)) ?? '[]');
    return new Map(
      (JSON.parse(kinds) as Kind[]).map(([seq, type, status, priority, instanceId]) => [
        seq,
        { type, status, priority, instanceId },
      ]),
    );
  }

  #select(list: ListUnderWay): Selection {
    const { query } = list;
    const filter = filterOf(list);
    const { below } = query;
    // One more tells whether there are more.
    if (below !== undefined) {
      return this.#columns.select(filter, { order: 'NEWEST_FIRST', from: 0, to: query.size + 1, below });
    }
    const from = query.page * query.size;
    const to = from + query.size;
    if (query.order === 'NEXT_TO_RUN_FIRST') return this.#nextToRun(filter, from, to);
    if (query.order === 'LONGEST_RUNNING_FIRST') {
      const all = this.#columns.select(filter, {
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
    return this.#columns.select(filter, { order: 'NEWEST_FIRST', from, to });
  }

  /** Priority by priority, the highest first. */
  #nextToRun(filter: ColumnsFilter, from: number, to: number): Selection {
    const seqs: number[] = [];
    let count = 0;
    for (const priority of filter.priority ? [filter.priority] : PRIORITIES) {
      const places = { order: 'OLDEST_FIRST', from: from - count, to: to - count } as const;
      const selection = this.#columns.select({ ...filter, priority }, places);
      seqs.push(...selection.seqs);
      count += selection.count;
    }
    return { count, seqs };
  }
}

function hasTexts({ id, name, creator }: ListQuery): boolean {
  return id !== undefined || name !== undefined || creator !== undefined;
}

function filterOf({ query, search }: ListUnderWay): ColumnsFilter {
  const { type, priority, statuses, instances = [], requestedFromMs, requestedBeforeMs } = query;
  const instanceIds = instances.length === 0 ? undefined : instances;
  return { type, priority, statuses, search, instanceIds, requestedFromMs, requestedBeforeMs };
}

/** The filter whose segments have to be searched: a window counts all statuses. */
function searchedBy(list: ListUnderWay): ColumnsFilter {
  const filter = filterOf(list);
  return list.query.below === undefined ? filter : { ...filter, statuses: [] };
}

/** True when the task still matches by what can change. */
function isWanted(task: TaskState | undefined, { statuses, instances = [] }: ListQuery): boolean {
  if (task === undefined || (statuses.length > 0 && !statuses.includes(task.status))) return false;
  return instances.length === 0 || (task.instanceId !== null && instances.includes(task.instanceId));
}
