/** Lists of tasks, by SQL. */
import { TASK_STATUSES, type TaskStatus } from '@workbench-hub/shared/domain/task';
import type { TaskPage, TaskQuery, TaskWindow, TaskWindowQuery } from '../../../core/ports/task-archive.js';
import type { TaskFilter } from '../../../core/task-filter.js';
import { placeOf } from '../../rows/list-place.js';
import { kindsOf, STATUSES_BY_NUMBER as STATUSES } from '../../rows/task-kinds.js';
import { type TaskRow, taskOfRow } from '../../rows/task-row.js';
import type { Database } from '../connection/pool.js';
import { rowOf } from '../connection/statement.js';
import { isByKind, numbersOf } from './by-kind.js';
import { type ListStatement, READ_MAIN_STATUS, READ_POINT, READ_TOTAL } from './list-statement.js';
import { pageOf, windowOf } from './list-statements.js';

/** Number of tasks before a page from which on it is worth the while to look which end of the list is nearer. */
const FAR = 5000;

/** Each list is planned for its very filter, may look at all tasks, and has memory for the numbers of a million. */
const SETTINGS =
  "SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL enable_seqscan = on; SET LOCAL work_mem = '64MB'";

interface PageRow {
  readonly total: number;
  readonly tasks: readonly TaskRow[] | null;
}

interface WindowRow {
  readonly seqs: readonly number[] | null;
  readonly tasks: readonly TaskRow[] | null;
  readonly counts: readonly (readonly [status: number, tasks: number])[] | null;
}

export class TaskLists {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async window({ after, size, ...asked }: TaskWindowQuery): Promise<TaskWindow> {
    const below = placeOf(after);
    const filter = await this.#effective(asked);
    const mainStatus = await this.#mainStatus(filter);
    const row = await this.#read<WindowRow>(windowOf(filter, below, size, { mainStatus }));
    const { seqs, tasks, counts } = row ?? { seqs: null, tasks: null, counts: null };
    const isLast = (seqs ?? []).length <= size;
    const byStatus = new Map((counts ?? []).map(([status, count]) => [STATUSES[status], count]));
    return {
      tasks: (tasks ?? []).slice(0, size).map(taskOfRow),
      next: isLast ? null : String(seqs?.[size - 1] ?? ''),
      counts: Object.fromEntries(
        TASK_STATUSES.map((status) => [status, byStatus.get(status) ?? 0]),
      ) as Record<TaskStatus, number>,
    };
  }

  async list({ page, size, order = 'NEWEST_FIRST', ...asked }: TaskQuery): Promise<TaskPage> {
    const filter = await this.#effective(asked);
    const places = { offset: page * size, size };
    const isNearerToEnd = await this.#isNearerToEnd(filter, places.offset);
    const mainStatus = await this.#mainStatus(filter);
    const row = await this.#read<PageRow>(pageOf(filter, order, places, { isNearerToEnd, mainStatus }));
    return { tasks: (row?.tasks ?? []).map(taskOfRow), totalElements: row?.total ?? 0 };
  }

  /** The filter without a condition that leaves out no task: a hub without studies has lists by kinds. */
  async #effective(filter: TaskFilter): Promise<TaskFilter> {
    if (filter.study !== null) return filter;
    const point = await rowOf<{ found: boolean }, never>(this.#db, READ_POINT, {});
    return point ? filter : { ...filter, study: undefined };
  }

  async #isNearerToEnd(filter: TaskFilter, offset: number): Promise<boolean> {
    if (offset < FAR || !isByKind(filter)) return false;
    const kinds = numbersOf(kindsOf(filter));
    const row = await rowOf<{ total: number }, 'kinds'>(this.#db, READ_TOTAL, { kinds });
    return offset * 2 > (row?.total ?? 0);
  }

  /** Only lists that look at all tasks need to know it. */
  async #mainStatus(filter: TaskFilter): Promise<TaskStatus> {
    if (isByKind(filter)) return 'FINISHED';
    const row = await rowOf<{ status: number }>(this.#db, READ_MAIN_STATUS, {});
    return STATUSES[row?.status ?? 0] ?? 'FINISHED';
  }

  #read<Row extends object>({ statement, values }: ListStatement): Promise<Row | undefined> {
    return this.#db.transaction((queries) => rowOf<Row, string>(queries, statement, values), SETTINGS);
  }
}
