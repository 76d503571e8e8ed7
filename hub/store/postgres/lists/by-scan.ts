/**
 * Lists by texts, times and instances. One pass over all tasks, by several processes of the server, counts the matches of each
 * bucket: tasks with successive numbers. So the total is known, and the buckets that have the page, of which alone the matches are
 * looked at again.
 */

import type { TaskStatus } from '@workbench-hub/shared/domain/task';
import type { TaskOrder } from '../../../core/ports/task-archive.js';
import type { TaskFilter } from '../../../core/task-filter.js';
import { STATUS_NUMBERS } from '../../rows/task-kinds.js';
import { matchingOf, statusOf } from './conditions.js';
import { COLUMNS, type ListedTasks, ORDERED_BY, type WindowTasks } from './list-statement.js';

/** Tasks of a bucket, as in the migration. */
const BUCKET = 1024;

const IN_BUCKET = '% BETWEEN bucket.first AND bucket.last';

/** @param main The status that most tasks have. */
export function byScan(filter: TaskFilter, order: TaskOrder, main: TaskStatus): ListedTasks {
  if (order === 'LONGEST_RUNNING_FIRST') return bySort(filter, main);
  const byPriority = order === 'NEXT_TO_RUN_FIRST';
  const { from, seq, priority, where, types, values } = matchingOf(filter, main);
  const bucket = `${seq} / ${BUCKET}`;
  const group = byPriority ? `${priority} AS priority, ` : '';
  const samePriority = byPriority ? `AND ${priority} = bucket.priority` : '';
  return {
    parts: `
      buckets AS MATERIALIZED (
        SELECT ${group} ${bucket} AS bucket, count(*) AS tasks, min(${seq}) AS first, max(${seq}) AS last
        FROM ${from} WHERE ${where()} GROUP BY ${byPriority ? `${priority},` : ''} ${bucket}),
      counted AS (SELECT coalesce(sum(tasks), 0)::bigint AS total FROM buckets),
      ordered AS (
        SELECT buckets.*, (sum(tasks) OVER (ORDER BY ${byPriority ? 'priority, bucket' : 'bucket DESC'}))::bigint AS through
        FROM buckets),
      wanted AS MATERIALIZED (
        SELECT * FROM ordered WHERE through > :offset AND through - tasks < :offset + :size)`,
    page: `
      SELECT ${COLUMNS[order].join(', ')} FROM wanted AS bucket, LATERAL (
        SELECT ${seq} AS seq FROM ${from} WHERE ${where(IN_BUCKET)} ${samePriority} OFFSET 0) AS found
      ORDER BY ${ORDERED_BY[order]} OFFSET :offset - (SELECT min(through - tasks) FROM wanted) LIMIT :size`,
    types,
    values,
  };
}

/** Running tasks, which are few. */
function bySort(filter: TaskFilter, main: TaskStatus): ListedTasks {
  const { from, seq, where, types, values } = matchingOf(filter, main);
  const join = from === 'task_text' ? 'JOIN task AS started ON started.seq = task_text.task_seq' : '';
  const startedAt = join === '' ? 'task.started_at' : 'started.started_at';
  return {
    parts: `
      matching AS MATERIALIZED (SELECT ${seq} AS seq, ${startedAt} FROM ${from} ${join} WHERE ${where()}),
      counted AS (SELECT count(*) AS total FROM matching)`,
    page: `SELECT seq, started_at FROM matching ORDER BY ${ORDERED_BY.LONGEST_RUNNING_FIRST} OFFSET :offset LIMIT :size`,
    types,
    values,
  };
}

/** Tasks of a window, one more than its size. Matches are counted whatever their status. */
export function windowByScan(filter: TaskFilter, main: TaskStatus): WindowTasks {
  const { statuses } = filter;
  const all = matchingOf({ ...filter, statuses: [] }, main);
  const wanted = matchingOf(filter, main);
  const status = statusOf(all, filter, main);
  const bucket = `${all.seq} / ${BUCKET}`;
  const isWanted = statuses.length === 0 ? '' : 'AND buckets.status = ANY (:statusNumbers)';
  const numbers = statuses.map((each) => STATUS_NUMBERS[each]);
  return {
    parts: `
      buckets AS MATERIALIZED (
        SELECT ${status.value} AS status, ${bucket} AS bucket, count(*) AS tasks, min(${all.seq}) AS first, max(${all.seq}) AS last
        FROM ${all.from} ${status.join} WHERE ${all.where()} GROUP BY ${status.value}, ${bucket}),
      later AS (
        SELECT bucket, min(first) AS first, max(last) AS last,
          sum(CASE WHEN max(last) < :below THEN sum(tasks) ELSE 0 END) OVER (
            ORDER BY bucket DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
        FROM buckets WHERE first < :below ${isWanted} GROUP BY bucket),
      page AS (
        SELECT seq FROM (SELECT * FROM later WHERE coalesce(before, 0) < :size) AS bucket, LATERAL (
          SELECT ${wanted.seq} AS seq FROM ${wanted.from} WHERE ${wanted.where(IN_BUCKET)} AND ${wanted.seq} < :below OFFSET 0) AS found
        ORDER BY seq DESC LIMIT :size)`,
    counts: 'SELECT status, sum(tasks)::bigint AS tasks FROM buckets GROUP BY status',
    types: {
      ...all.types,
      ...wanted.types,
      ...status.types,
      ...(statuses.length === 0 ? {} : { statusNumbers: 'smallint[]' }),
    },
    values: {
      ...all.values,
      ...wanted.values,
      ...status.values,
      ...(statuses.length === 0 ? {} : { statusNumbers: numbers }),
    },
  };
}
