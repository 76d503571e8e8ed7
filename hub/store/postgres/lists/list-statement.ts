/** Statements of lists, which are put together by their filter and order. */
import type { TaskOrder } from '../../../core/ports/task-archive.js';
import { type NamedStatement, type SqlType, sql } from '../connection/statement.js';
import { TASK_JOINS, TASK_JSON } from '../rows/task-columns.js';

/** A statement with its values. */
export interface ListStatement {
  readonly statement: NamedStatement;
  readonly values: Readonly<Record<string, unknown>>;
}

/** Numbers of tasks before a page, and on it. */
export interface PagePlaces {
  readonly offset: number;
  readonly size: number;
}

/** Parameters of a statement, with their values. */
export interface Parameters {
  readonly types: Readonly<Record<string, SqlType>>;
  readonly values: Readonly<Record<string, unknown>>;
}

/** The tasks of a list. */
export interface ListedTasks extends Parameters {
  /** Common table expressions: `counted` with the `total` among them. */
  readonly parts: string;
  /** Query of the tasks of the page, with the columns of the order. */
  readonly page: string;
}

/** Columns by which a list is ordered. */
export const ORDERED_BY: Readonly<Record<TaskOrder, string>> = {
  NEWEST_FIRST: 'seq DESC',
  NEXT_TO_RUN_FIRST: 'priority, seq',
  LONGEST_RUNNING_FIRST: 'started_at NULLS FIRST, seq',
};

/** The same from the end. */
export const ORDERED_BACKWARDS: Readonly<Record<TaskOrder, string>> = {
  NEWEST_FIRST: 'seq',
  NEXT_TO_RUN_FIRST: 'priority DESC, seq DESC',
  LONGEST_RUNNING_FIRST: 'started_at DESC NULLS LAST, seq DESC',
};

/** Columns that the order needs. */
export const COLUMNS: Readonly<Record<TaskOrder, readonly string[]>> = {
  NEWEST_FIRST: ['seq'],
  NEXT_TO_RUN_FIRST: ['seq', 'priority'],
  LONGEST_RUNNING_FIRST: ['seq', 'started_at'],
};

/** Statements that were built, by their SQL, so that each is named once. */
const built = new Map<string, NamedStatement>();

function named(types: Readonly<Record<string, SqlType>>, text: string): NamedStatement {
  const known = built.get(text);
  if (known) return known;
  const statement = sql(types, text);
  built.set(text, statement);
  return statement;
}

/** Page of a list; the result is a row with `total` and `tasks`. */
export function pageStatement(
  tasks: ListedTasks,
  order: TaskOrder,
  { offset, size }: PagePlaces,
): ListStatement {
  const text = `
    WITH ${tasks.parts},
    page AS (${tasks.page}),
    placed AS (SELECT seq, row_number() OVER (ORDER BY ${ORDERED_BY[order]}) AS at FROM page)
    SELECT counted.total, (
      SELECT json_agg(${TASK_JSON} ORDER BY placed.at)
      FROM placed JOIN task ON task.seq = placed.seq ${TASK_JOINS}) AS tasks
    FROM counted`;
  return {
    statement: named({ ...tasks.types, offset: 'bigint', size: 'bigint' }, text),
    values: { ...tasks.values, offset, size },
  };
}

/** The tasks of a window. */
export interface WindowTasks extends Parameters {
  /** Common table expressions, `page` with the `seq` of each task among them. */
  readonly parts: string;
  /** Query of the numbers of tasks by `status`, as the number that `kind` has of it. */
  readonly counts: string;
}

/** Window of a list; the result is a row with `tasks`, `seqs` and `counts` by status. */
export function windowStatement(tasks: WindowTasks, below: number, size: number): ListStatement {
  const text = `
    WITH ${tasks.parts}
    SELECT (SELECT json_agg(page.seq ORDER BY page.seq DESC) FROM page) AS seqs,
      (SELECT json_agg(${TASK_JSON} ORDER BY page.seq DESC) FROM page JOIN task ON task.seq = page.seq ${TASK_JOINS}) AS tasks,
      (SELECT json_agg(json_build_array(status, tasks)) FROM (${tasks.counts}) AS each) AS counts`;
  return {
    statement: named({ ...tasks.types, below: 'bigint', size: 'bigint' }, text),
    values: { ...tasks.values, below, size },
  };
}

/** Number of tasks of some kinds, as the row `total`. */
export const TOTAL =
  'SELECT coalesce(sum(tasks), 0)::bigint AS total FROM task_count WHERE kind = ANY (:kinds)';
export const READ_TOTAL = sql({ kinds: 'smallint[]' }, TOTAL);

/** A row if there is a task of a point, otherwise none. */
export const READ_POINT = sql({}, 'SELECT true AS found FROM task_text WHERE study_id IS NOT NULL LIMIT 1');

/** The status that most tasks have, as its number; no row when there are no tasks. */
export const READ_MAIN_STATUS = sql(
  {},
  'SELECT (kind / 8) % 8 AS status FROM task_count GROUP BY 1 ORDER BY sum(tasks) DESC LIMIT 1',
);
