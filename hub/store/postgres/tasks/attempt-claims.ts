/** Claims: the transition from waiting to running, which does not wait for the disk. */
import type { Job } from '@workbench-hub/shared/domain/job';
import type { Claim, ClaimedTask } from '../../../core/ports/task-queue.js';
import { TASK_TRANSITIONS, type Task } from '../../../core/task.js';
import { checkpointOfRows, type FileRow } from '../../rows/file-row.js';
import { taskOfRow } from '../../rows/task-row.js';
import { rowsOf, sql } from '../connection/statement.js';
import { byCall, firstOnly, type Items } from '../lanes/batch-items.js';
import { type LaneWrite, laneStatement } from '../lanes/lane-statements.js';
import { checkpointJson } from '../objects/file-references.js';
import { RETURNED_TASK, type RowWithTask, TASK_JOINS, TASK_JSON } from '../rows/task-columns.js';
import { FROM_INPUT, from, to } from './transition-sql.js';

/** A claim with the term of its scheduler; null when it is of none. */
export interface TermedClaim extends Claim {
  readonly term: number | null;
}

/** A claimed task with its number. */
export interface Claimed extends ClaimedTask {
  readonly seq: number;
}

interface ClaimedRow extends RowWithTask {
  /** Number of the item; null in the only row of a batch without a claimed task. */
  readonly at: number | null;
  readonly seq: number;
  readonly job: string;
  /** Null in a first attempt, too. */
  readonly checkpoint: readonly FileRow[] | null;
}

const CHECKPOINT = `CASE WHEN task.attempt > 1 THEN ${checkpointJson('task.seq')} END`;

/**
 * The row of the term is locked until the commit, so that a term begins after the last claim of the one before has been committed or
 * has found that its term is over (decision 0064). The lock conflicts with the beginning of a term, not with its renewal.
 */
const CLAIM = laneStatement({
  isDurable: false,
  parameters: {
    taskIds: 'text[]',
    agentIds: 'text[]',
    instanceIds: 'text[]',
    versions: 'text[]',
    revisions: 'text[]',
    startedAts: 'bigint[]',
    terms: 'bigint[]',
  },
  parts: `
    scheduler AS (SELECT scheduler_term.term FROM held, scheduler_term FOR KEY SHARE OF scheduler_term),
    input AS (
      SELECT given.* FROM scheduler,
        unnest(:taskIds, :agentIds, :instanceIds, :versions, :revisions, :startedAts, :terms)
        WITH ORDINALITY AS given (task_id, agent_id, instance_id, version, revision, started_at, term, at)
      WHERE given.term IS NULL OR given.term = scheduler.term),
    claimed AS (
      UPDATE task SET ${to(TASK_TRANSITIONS.claim)}, attempt = task.attempt + 1, started_at = input.started_at,
        agent_id = input.agent_id, instance_id = input.instance_id, instance_version = input.version,
        instance_revision = input.revision
      ${FROM_INPUT} AND ${from(TASK_TRANSITIONS.claim)}
      RETURNING input.at, ${RETURNED_TASK})`,
  outcome: 'SELECT json_agg(json_build_array(at, seq)) FROM claimed',
  returned: `
    SELECT CASE WHEN row_number() OVER () = 1 THEN saved.outcome END AS outcome, started.*
    FROM saved LEFT JOIN (
      SELECT task.at, task.seq, task_request.job, ${CHECKPOINT} AS checkpoint, ${TASK_JSON} AS task FROM claimed AS task ${TASK_JOINS}) AS started ON true`,
});

const RECALL = sql(
  { seqs: 'bigint[]' },
  `SELECT task.seq, task_request.job, ${CHECKPOINT} AS checkpoint, ${TASK_JSON} AS task FROM task ${TASK_JOINS} WHERE task.seq = ANY (:seqs)`,
);

export const CLAIM_WRITE: LaneWrite<Items<TermedClaim>, readonly Claimed[]> = {
  statement: CLAIM,
  isDurable: false,
  keys: (claims) => claims.map(({ taskId }) => taskId),
  values: (calls) => {
    const claims = calls.flat();
    return {
      taskIds: firstOnly(claims, ({ taskId }) => taskId),
      agentIds: claims.map(({ instance }) => instance.agentId),
      instanceIds: claims.map(({ instance }) => instance.id),
      versions: claims.map(({ instance }) => instance.version),
      revisions: claims.map(({ instance }) => instance.revision),
      startedAts: claims.map(({ startedAtMs }) => startedAtMs),
      terms: claims.map(({ term }) => term),
    };
  },
  results: (calls, _, rows) => {
    const byNumber = new Map((rows as ClaimedRow[]).map((row) => [row.at, row]));
    return byCall(calls, ({ instance }, number): Claimed[] => {
      const row = byNumber.get(number);
      return row ? [claimedOf(row, taskOfRow(row.task), instance.agentId)] : [];
    }).map((claimed) => claimed.flat());
  },
  // A task that has changed since is not claimed any more: it must not be assigned.
  recall: async (calls, outcome, db) => {
    const places = new Map((outcome ?? []) as [at: number, seq: number][]);
    const rows = await rowsOf<ClaimedRow, 'seqs'>(db, RECALL, { seqs: [...places.values()] });
    const bySeq = new Map(rows.map((row) => [row.seq, row]));
    return byCall(calls, ({ instance, startedAtMs }, number): Claimed[] => {
      const row = bySeq.get(places.get(number) ?? 0);
      if (!row) return [];
      const task = taskOfRow(row.task);
      const isClaimed =
        task.status === 'RUNNING' && task.instance?.id === instance.id && task.startedAtMs === startedAtMs;
      return isClaimed ? [claimedOf(row, task, instance.agentId)] : [];
    }).map((claimed) => claimed.flat());
  },
};

function claimedOf({ seq, job, checkpoint: rows }: ClaimedRow, task: Task, agentId: string): Claimed {
  const ref = { taskId: task.id, attempt: task.attempt, instanceId: task.instance?.id ?? '' };
  const claimed = { seq, ref, agentId, task, job: JSON.parse(job) as Job };
  return rows === null ? claimed : { ...claimed, checkpoint: checkpointOfRows(rows) };
}
