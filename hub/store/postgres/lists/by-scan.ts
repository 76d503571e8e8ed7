/**
 * Lists by texts, times and instances. One pass over all tasks, by several processes of the server, counts the matches of each
 * bucket: tasks with successive numbers. So the total is known, and the buckets that have the page, of which alone the matches are
 * looked at again.
 */
import type { TaskOrder } from '../../../core/ports/task-archive.js';
import type { TaskFilter } from '../../../core/task-filter.js';
import { matchingOf } from './conditions.js';
import { COLUMNS, type ListedTasks, ORDERED_BY, type WindowTasks } from './list-statement.js';

/** Tasks of a bucket, as in the migration. */
const BUCKET = 1024;

const TOTAL = 'counted AS (SELECT coalesce(sum(tasks), 0)::bigint AS total FROM buckets)';

export function byScan(filter: TaskFilter, order: TaskOrder): ListedTasks {
  if (order === 'LONGEST_RUNNING_FIRST') return bySort(filter);
  const byPriority = order === 'NEXT_TO_RUN_FIRST';
  const { from, seq, seqs, where, types, values } = matchingOf(filter, byPriority);
  const bucket = `${seq} / ${BUCKET}`;
  const priority = byPriority ? 'task.priority,' : '';
  const bucketOrder = byPriority ? 'priority, bucket' : 'bucket DESC';
  const inBucket = [
    ...seqs.map((each) => `${each} BETWEEN bucket.first AND bucket.last`),
    ...(byPriority ? ['task.priority = bucket.priority'] : []),
  ].join(' AND ');
  return {
    parts: `
      buckets AS MATERIALIZED (
        SELECT ${priority} ${bucket} AS bucket, count(*) AS tasks, min(${seq}) AS first, max(${seq}) AS last
        FROM ${from} WHERE ${where} GROUP BY ${priority} ${bucket}),
      ${TOTAL},
      ordered AS (SELECT buckets.*, (sum(tasks) OVER (ORDER BY ${bucketOrder}))::bigint AS through FROM buckets),
      wanted AS MATERIALIZED (
        SELECT * FROM ordered WHERE through > :offset AND through - tasks < :offset + :size)`,
    page: `
      SELECT ${COLUMNS[order].join(', ')} FROM wanted AS bucket, LATERAL (
        SELECT ${seq} AS seq FROM ${from} WHERE ${inBucket} AND ${where} OFFSET 0) AS found
      ORDER BY ${ORDERED_BY[order]} OFFSET :offset - (SELECT min(through - tasks) FROM wanted) LIMIT :size`,
    types,
    values,
  };
}

/** Running tasks, which are few. */
function bySort(filter: TaskFilter): ListedTasks {
  const { from, where, types, values } = matchingOf(filter, true);
  return {
    parts: `
      matching AS MATERIALIZED (SELECT task.seq, task.started_at FROM ${from} WHERE ${where}),
      counted AS (SELECT count(*) AS total FROM matching)`,
    page: `SELECT seq, started_at FROM matching ORDER BY ${ORDERED_BY.LONGEST_RUNNING_FIRST} OFFSET :offset LIMIT :size`,
    types,
    values,
  };
}

/** Tasks of a window, one more than its size. Matches are counted whatever their status. */
export function windowByScan(filter: TaskFilter): WindowTasks {
  const { statuses } = filter;
  const { from, seq, seqs, where, types, values } = matchingOf({ ...filter, statuses: [] }, true);
  const bucket = `${seq} / ${BUCKET}`;
  const inBucket = seqs.map((each) => `${each} BETWEEN bucket.first AND bucket.last`).join(' AND ');
  const [isWanted, isBucketWanted] =
    statuses.length === 0
      ? ['true', 'true']
      : ['task.status = ANY (:statuses)', 'buckets.status = ANY (:statuses)'];
  return {
    parts: `
      buckets AS MATERIALIZED (
        SELECT task.status, ${bucket} AS bucket, count(*) AS tasks, min(${seq}) AS first, max(${seq}) AS last
        FROM ${from} WHERE ${where} GROUP BY task.status, ${bucket}),
      later AS (
        SELECT bucket, min(first) AS first, max(last) AS last,
          sum(CASE WHEN max(last) < :below THEN sum(tasks) ELSE 0 END) OVER (
            ORDER BY bucket DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
        FROM buckets WHERE first < :below AND ${isBucketWanted} GROUP BY bucket),
      page AS (
        SELECT seq FROM (SELECT * FROM later WHERE coalesce(before, 0) < :size) AS bucket, LATERAL (
          SELECT ${seq} AS seq FROM ${from} WHERE ${inBucket} AND ${seq} < :below AND ${isWanted} AND ${where} OFFSET 0) AS found
        ORDER BY seq DESC LIMIT :size)`,
    counts: `
      SELECT CASE status WHEN 'WAITING' THEN 0 WHEN 'RUNNING' THEN 1 WHEN 'FINISHED' THEN 2 WHEN 'FAILED' THEN 3 ELSE 4 END AS status,
        sum(tasks)::bigint AS tasks FROM buckets GROUP BY status`,
    types: { ...types, ...(statuses.length === 0 ? {} : { statuses: 'text[]' }) },
    values: { ...values, ...(statuses.length === 0 ? {} : { statuses }) },
  };
}
