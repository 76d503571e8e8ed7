import { requirementOfKey } from '@workbench-hub/shared/domain/classifier';
import type { TaskExclusions } from '../../../core/ports/task-exclusions.js';
import type { SqliteDatabase } from '../connection/database.js';
import type { GroupCommit } from '../connection/group-commit.js';

interface Row {
  readonly taskId: string;
  readonly requirementKey: string;
  readonly agentId: string;
  readonly reason: string;
  readonly atMs: number;
}

export function sqliteTaskExclusions(db: SqliteDatabase, commit: GroupCommit): TaskExclusions {
  const put = db.prepare<[string, string, number, string]>(`
    INSERT INTO task_exclusion (task_seq, agent_id, reason, noted_at) SELECT seq, ?, ?, ? FROM task WHERE id = ?
    ON CONFLICT (task_seq, agent_id) DO UPDATE SET reason = excluded.reason, noted_at = excluded.noted_at`);
  const since = db.prepare<[number], Row>(`
    SELECT task.id AS taskId, requirement.key AS requirementKey, excluded.agent_id AS agentId, reason, noted_at AS atMs
    FROM task_exclusion AS excluded
    JOIN task ON task.seq = excluded.task_seq
    JOIN requirement ON requirement.id = task.requirement_id
    WHERE noted_at > ? AND task.status IN ('WAITING', 'RUNNING') ORDER BY noted_at, taskId, agentId`);

  return {
    put: async (taskId, { agentId, reason, atMs }) =>
      void (await commit.relaxed(() => put.run(agentId, reason, atMs, taskId))),
    since: async (atMs) =>
      since.all(atMs).map(({ taskId, requirementKey, ...exclusion }) => ({
        taskId,
        requirement: requirementOfKey(requirementKey),
        exclusion,
      })),
  };
}
