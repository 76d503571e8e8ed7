/** Lists of tasks, by SQL. */
import { TASK_STATUSES, type TaskStatus } from '@workbench-hub/shared/domain/task';
import { invalidInput } from '../../../core/errors.js';
import type {
  ListClient,
  TaskPage,
  TaskQuery,
  TaskWindow,
  TaskWindowQuery,
} from '../../../core/ports/task-archive.js';
import type { Database } from '../pool.js';
import { rowOf } from '../statement.js';
import { type TaskRow, taskOfRow } from '../task-row.js';
import { type ListStatement, pageOf, windowOf } from './list-statements.js';
import { ListTurns } from './list-turns.js';

/** Statuses in the order of their numbers in `kind`. */
const STATUSES: readonly TaskStatus[] = ['WAITING', 'RUNNING', 'FINISHED', 'FAILED', 'CANCELED'];

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
  readonly #turns = new ListTurns();

  constructor(db: Database) {
    this.#db = db;
  }

  list(query: TaskQuery, client?: ListClient): Promise<TaskPage> {
    return this.#turns.run(client, () => this.#list(query));
  }

  async window({ after, size, ...filter }: TaskWindowQuery, client: ListClient): Promise<TaskWindow> {
    const below = after === null ? Number.MAX_SAFE_INTEGER : placeOf(after);
    const row = await this.#turns.run(client, () => this.#read<WindowRow>(windowOf(filter, below, size)));
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

  async #list({ page, size, order = 'NEWEST_FIRST', ...filter }: TaskQuery): Promise<TaskPage> {
    const row = await this.#read<PageRow>(pageOf(filter, order, { offset: page * size, size }));
    return { tasks: (row?.tasks ?? []).map(taskOfRow), totalElements: row?.total ?? 0 };
  }

  #read<Row extends object>({ statement, values }: ListStatement): Promise<Row | undefined> {
    return rowOf<Row, string>(this.#db, statement, values);
  }
}

/** The `seq` in a place after a window. */
function placeOf(after: string): number {
  if (/^\d{1,15}$/.test(after)) return Number(after);
  throw invalidInput([{ where: 'after', what: 'must be the "next" of an earlier response' }]);
}
