import { TASK_TRANSITIONS } from '../../../core/task.js';
import { firstOnly, type Items, tookPlace } from '../lanes/batch-items.js';
import { type LaneWrite, laneStatement } from '../lanes/lane-statements.js';
import { FROM_INPUT, from } from './transition-sql.js';

/** Tables with rows of tasks, besides `task` and `task_request`. */
const TABLES = [
  'task_text',
  'task_note',
  'task_file',
  'task_stored_file',
  'former_attempt',
  'task_exclusion',
  'task_notify',
] as const;

/** Condition that a task may be removed: no other hub needs its result any more. */
export const HAS_NO_OPEN_LOAN = 'NOT EXISTS (SELECT FROM open_loan WHERE open_loan.task_seq = task.seq)';

const REMOVE = laneStatement({
  parameters: { taskIds: 'text[]' },
  parts: `
    input AS (SELECT given.* FROM held, unnest(:taskIds) WITH ORDINALITY AS given (task_id, at)),
    removed AS (
      DELETE FROM task USING ${FROM_INPUT.replace(/^FROM /, '')} AND ${from(TASK_TRANSITIONS.remove)}
        AND ${HAS_NO_OPEN_LOAN}
      RETURNING input.at, input.task_id, task.seq),
    requests AS (DELETE FROM task_request USING removed WHERE task_request.task_seq = removed.seq),
    keys AS (
      DELETE FROM idempotency_key USING removed WHERE idempotency_key.task_seq = removed.seq AND idempotency_key.task_id IS NULL),
    ${TABLES.map((table) => `of_${table} AS (DELETE FROM ${table} USING removed WHERE ${table}.task_seq = removed.seq)`).join(', ')}`,
  changes: 'SELECT to_json(task_id) FROM removed',
  outcome: 'SELECT json_agg(at) FROM removed',
});

/** Removes ended tasks with all that belongs to them. */
export const REMOVE_WRITE: LaneWrite<Items<string>, boolean[]> = {
  statement: REMOVE,
  isDurable: true,
  keys: (taskIds) => taskIds,
  values: (calls) => ({ taskIds: firstOnly(calls.flat(), (taskId) => taskId) }),
  results: tookPlace,
};
