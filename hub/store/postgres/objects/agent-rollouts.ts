import type { Rollout } from '../../../core/agent-rollout.js';
import { type AgentRollouts, KEPT_ROLLOUTS, type RolloutLook } from '../../../core/ports/agent-rollouts.js';
import {
  memberOfRow,
  ROLLOUT_COLUMNS,
  ROLLOUT_MEMBER_COLUMNS,
  type RolloutMemberRow,
  type RolloutRow,
  rolloutOfRow,
  rowOfMember,
} from '../../rows/rollout-row.js';
import type { Database } from '../connection/pool.js';
import { rowOf, rowsOf, sql } from '../connection/statement.js';
import { type LaneWrite, laneStatement, SCHEDULER_OF_TERM } from '../lanes/lane-statements.js';
import type { Lanes } from '../lanes/lanes.js';

/** One call in a batch. */
const ALONE = { isDurable: true, keys: () => ['all'] } as const;
const TOOK_PLACE = {
  ...ALONE,
  results: (_: readonly unknown[], outcome: unknown) => [outcome !== 0],
} as const;

const BEGIN: LaneWrite<Pick<Rollout, 'target' | 'version' | 'begunAtMs'>, null> = {
  ...ALONE,
  statement: laneStatement({
    parameters: { target: 'text', version: 'text', begunAt: 'bigint', kept: 'bigint' },
    parts: `
      begun AS (
        INSERT INTO agent_rollout (target, version, begun_at) SELECT :target, :version, :begunAt FROM held
        ON CONFLICT DO NOTHING RETURNING target),
      removed AS (
        DELETE FROM agent_rollout USING begun WHERE agent_rollout.target IN (
          SELECT target FROM agent_rollout WHERE target <> :target ORDER BY begun_at DESC, target OFFSET :kept))`,
    outcome: "'null'",
  }),
  values: ([call]) =>
    call
      ? { target: call.target, version: call.version, begunAt: call.begunAtMs, kept: KEPT_ROLLOUTS - 1 }
      : {},
  results: () => [null],
};

const RECORD: LaneWrite<{ readonly look: RolloutLook; readonly term: number }, boolean> = {
  ...TOOK_PLACE,
  weight: ({ look }) => look.changed.reduce((sum, { log }) => sum + (log?.length ?? 0), 0),
  statement: laneStatement({
    parameters: {
      term: 'bigint',
      target: 'text',
      agentIds: 'text[]',
      places: 'integer[]',
      progress: 'text[]',
      running: 'text[]',
      reasons: 'text[]',
      logs: 'text[]',
      changedAts: 'bigint[]',
      gone: 'text[]',
    },
    parts: `${SCHEDULER_OF_TERM},
      put AS (
        INSERT INTO rollout_member (target, ${ROLLOUT_MEMBER_COLUMNS})
        SELECT agent_rollout.target, given.* FROM scheduler, agent_rollout,
          unnest(:agentIds, :places, :progress, :running, :reasons, :logs, :changedAts) AS given
        WHERE agent_rollout.target = :target
        ON CONFLICT (target, agent_id) DO UPDATE SET place = excluded.place, progress = excluded.progress,
          running = excluded.running, reason = excluded.reason, log = excluded.log, changed_at = excluded.changed_at),
      removed AS (
        DELETE FROM rollout_member USING scheduler
        WHERE rollout_member.target = :target AND rollout_member.agent_id = ANY (:gone))`,
    outcome: 'SELECT to_json(count(*)) FROM scheduler',
  }),
  values: ([call]) => (call ? { ...valuesOf(call.look), term: call.term } : {}),
};

function valuesOf({ target, changed, gone }: RolloutLook) {
  const rows = changed.map(rowOfMember);
  return {
    target,
    gone,
    agentIds: rows.map((row) => row.agent_id),
    places: rows.map((row) => row.place),
    progress: rows.map((row) => row.progress),
    running: rows.map((row) => row.running),
    reasons: rows.map((row) => row.reason),
    logs: rows.map((row) => row.log),
    changedAts: rows.map((row) => row.changed_at),
  };
}

const STOP: LaneWrite<{ readonly target: string; readonly atMs: number; readonly by: string }, boolean> = {
  ...TOOK_PLACE,
  statement: laneStatement({
    parameters: { target: 'text', atMs: 'bigint', by: 'text' },
    parts: `
      stopped AS (
        UPDATE agent_rollout SET stopped_at = :atMs, stopped_by = :by FROM held
        WHERE target = :target AND stopped_at IS NULL RETURNING target)`,
    outcome: 'SELECT to_json(count(*)) FROM stopped',
  }),
  values: ([call]) => ({ ...call }),
};

const RESUME: LaneWrite<{ readonly target: string; readonly atMs: number }, boolean> = {
  ...TOOK_PLACE,
  statement: laneStatement({
    parameters: { target: 'text', atMs: 'bigint' },
    parts: `
      resumed AS (
        UPDATE agent_rollout SET stopped_at = NULL, stopped_by = NULL FROM held
        WHERE target = :target AND stopped_at IS NOT NULL RETURNING target),
      passed AS (
        UPDATE rollout_member SET progress = 'PASSED_OVER', changed_at = :atMs FROM held
        WHERE target = :target AND progress = 'FAILED' RETURNING agent_id)`,
    outcome: 'SELECT to_json((SELECT count(*) FROM resumed) + (SELECT count(*) FROM passed))',
  }),
  values: ([call]) => ({ ...call }),
};

const FIND = sql({ target: 'text' }, `SELECT ${ROLLOUT_COLUMNS} FROM agent_rollout WHERE target = :target`);
const MEMBERS = sql(
  { target: 'text' },
  `SELECT ${ROLLOUT_MEMBER_COLUMNS} FROM rollout_member WHERE target = :target ORDER BY agent_id`,
);

export function postgresAgentRollouts(db: Database, { change }: Lanes): AgentRollouts {
  return {
    find: async (target) => {
      const row = await rowOf<RolloutRow, 'target'>(db, FIND, { target });
      return row && rolloutOfRow(row);
    },
    members: async (target) =>
      (await rowsOf<RolloutMemberRow, 'target'>(db, MEMBERS, { target })).map(memberOfRow),
    begin: async (rollout) => void (await change.write(BEGIN, rollout)),
    record: (look, term) => change.write(RECORD, { look, term }),
    stop: (target, atMs, by) => change.write(STOP, { target, atMs, by }),
    resume: (target, atMs) => change.write(RESUME, { target, atMs }),
  };
}
