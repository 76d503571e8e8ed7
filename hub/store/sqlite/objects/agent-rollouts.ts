import { type AgentRollouts, KEPT_ROLLOUTS } from '../../../core/ports/agent-rollouts.js';
import {
  memberOfRow,
  ROLLOUT_COLUMNS,
  ROLLOUT_MEMBER_COLUMNS,
  type RolloutMemberRow,
  type RolloutRow,
  rolloutOfRow,
  rowOfMember,
} from '../../rows/rollout-row.js';
import type { SqliteDatabase } from '../connection/database.js';
import type { GroupCommit } from '../connection/group-commit.js';

export function sqliteAgentRollouts(db: SqliteDatabase, commit: GroupCommit): AgentRollouts {
  const select = db.prepare<[string], RolloutRow>(
    `SELECT ${ROLLOUT_COLUMNS} FROM agent_rollout WHERE target = ?`,
  );
  const selectMembers = db.prepare<[string], RolloutMemberRow>(
    `SELECT ${ROLLOUT_MEMBER_COLUMNS} FROM rollout_member WHERE target = ? ORDER BY agent_id`,
  );
  const insert = db.prepare<[string, string, number]>(
    'INSERT INTO agent_rollout (target, version, begun_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  );
  const removeOld = db.prepare<[string, number]>(
    `DELETE FROM agent_rollout WHERE target IN (
       SELECT target FROM agent_rollout WHERE target <> ? ORDER BY begun_at DESC, target LIMIT -1 OFFSET ?)`,
  );
  const put = db.prepare<[RolloutMemberRow & { readonly target: string }]>(
    `INSERT INTO rollout_member (target, ${ROLLOUT_MEMBER_COLUMNS})
     SELECT @target, @agent_id, @place, @progress, @running, @reason, @log, @changed_at
     FROM agent_rollout WHERE target = @target
     ON CONFLICT (target, agent_id) DO UPDATE SET place = excluded.place, progress = excluded.progress,
       running = excluded.running, reason = excluded.reason, log = excluded.log, changed_at = excluded.changed_at`,
  );
  const remove = db.prepare<[string, string]>('DELETE FROM rollout_member WHERE target = ? AND agent_id = ?');
  const stop = db.prepare<[number, string, string]>(
    'UPDATE agent_rollout SET stopped_at = ?, stopped_by = ? WHERE target = ? AND stopped_at IS NULL',
  );
  const unstop = db.prepare<[string]>(
    'UPDATE agent_rollout SET stopped_at = NULL, stopped_by = NULL WHERE target = ? AND stopped_at IS NOT NULL',
  );
  const passOver = db.prepare<[number, string]>(
    "UPDATE rollout_member SET progress = 'PASSED_OVER', changed_at = ? WHERE target = ? AND progress = 'FAILED'",
  );
  return {
    find: async (target) => {
      const row = select.get(target);
      return row && rolloutOfRow(row);
    },
    members: async (target) => selectMembers.all(target).map(memberOfRow),
    begin: ({ target, version, begunAtMs }) =>
      commit.durable(() => {
        if (insert.run(target, version, begunAtMs).changes > 0) removeOld.run(target, KEPT_ROLLOUTS - 1);
      }),
    record: async ({ target, changed, gone }) => {
      await commit.durable(() => {
        for (const member of changed) put.run({ target, ...rowOfMember(member) });
        for (const agentId of gone) remove.run(target, agentId);
      });
      return true;
    },
    stop: (target, atMs, by) => commit.durable(() => stop.run(atMs, by, target).changes > 0),
    resume: (target, atMs) =>
      commit.durable(() => unstop.run(target).changes + passOver.run(atMs, target).changes > 0),
  };
}
