/** Conditions of filters on the table `listed_task`. */

import { priorityRank } from '@workbench-hub/shared/domain/priority';
import { matchesWildcard, withSingleStars } from '@workbench-hub/shared/domain/wildcard';
import {
  comparedText,
  SEARCHED_TEXTS,
  type SearchedField,
  type TaskFilter,
} from '../../../core/task-filter.js';
import { fromSearchable, globPattern, searchable } from '../../rows/searchable-text.js';
import { STATUS_NUMBERS, TYPE_NUMBERS } from '../../rows/task-kinds.js';
import type { SqliteDatabase } from '../connection/database.js';

export interface Condition {
  /** SQL with `?` for each value. */
  readonly sql: string;
  readonly values: readonly (string | number)[];
}

/** Numbers of a task's status and priority in its kind. */
export const STATUS = '(kind >> 3) & 7';
export const PRIORITY = 'kind & 7';

/** The condition of all fields, the cheap ones first. */
export function conditionOf(filter: TaskFilter): Condition {
  const { instances = [], study, requestedFromMs, requestedBeforeMs } = filter;
  const parts: Condition[] = [...kindConditions(filter)];
  const add = (sql: string, ...values: (string | number)[]) => parts.push({ sql, values });
  if (study === null) add('study_id IS NULL');
  else if (study !== undefined) add('study_id = ?', study);
  if (requestedFromMs !== undefined) add('requested_at >= ?', requestedFromMs);
  if (requestedBeforeMs !== undefined) add('requested_at < ?', requestedBeforeMs);
  if (instances.length > 0) add('instance_id IN (SELECT value FROM json_each(?))', JSON.stringify(instances));
  for (const { field, isLong } of SEARCHED_TEXTS) {
    const pattern = filter[field];
    if (pattern === undefined) continue;
    const { sql, values } = textCondition(field, pattern);
    const ofTask = `SELECT 1 FROM listed_${field} AS long WHERE long.seq = listed_task.seq`;
    parts.push(isLong ? { sql: `EXISTS (${ofTask} AND ${sql})`, values } : { sql, values });
  }
  return {
    sql: parts.length === 0 ? 'true' : parts.map(({ sql }) => sql).join(' AND '),
    values: parts.flatMap(({ values }) => values),
  };
}

function kindConditions({ type, priority, statuses }: TaskFilter): Condition[] {
  const conditions: string[] = [];
  if (statuses.length > 0) {
    const wanted = statuses.reduce((bits, status) => bits | (1 << STATUS_NUMBERS[status]), 0);
    conditions.push(`(${wanted} >> (${STATUS})) & 1`);
  }
  if (type !== undefined) conditions.push(`kind >> 6 = ${TYPE_NUMBERS[type]}`);
  if (priority !== undefined) conditions.push(`${PRIORITY} = ${priorityRank(priority)}`);
  return conditions.map((sql) => ({ sql, values: [] }));
}

const WILDCARDS = /[*?]/;

/** Longest run of characters behind a `*` that GLOB looks for: it compares the run at each character of a text. */
const LONGEST_RUN = 16;

function textCondition(field: SearchedField, text: string): Condition {
  const pattern = comparedText(field, text);
  if (!WILDCARDS.test(pattern)) {
    // An id without wildcards has an index.
    return field === 'id'
      ? { sql: 'seq = (SELECT seq FROM task WHERE id = ?)', values: [pattern] }
      : { sql: `${field} = ?`, values: [searchable(pattern)] };
  }
  const single = withSingleStars(pattern);
  const [head = '', ...runs] = single.split('*');
  if (runs.every((run) => run.length <= LONGEST_RUN)) {
    return { sql: `${field} GLOB ?`, values: [globPattern(single)] };
  }
  // GLOB looks for the end of each run; the few texts that have all of them are compared in bounded time.
  const ends = runs.map((run) => run.slice(-LONGEST_RUN));
  const sql = `${field} GLOB ? AND matches_wildcard(?, ${field})`;
  return { sql, values: [globPattern([head, ...ends].join('*')), single] };
}

/** SQL function `matches_wildcard`, for which {@link conditionOf} asks: compares a pattern with a searchable text. */
export function addWildcardFunction(db: SqliteDatabase): void {
  db.function('matches_wildcard', { deterministic: true }, (pattern: unknown, text: unknown) =>
    typeof text === 'string' && matchesWildcard(pattern as string, fromSearchable(text)) ? 1 : 0,
  );
}
