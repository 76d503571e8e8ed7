import { requirementOfKey } from '@workbench-hub/shared/domain/classifier';
import type { TaskExclusions } from '../../../core/ports/task-exclusions.js';
import type { Exclusion } from '../../../core/wait-reason.js';
import type { Database } from '../connection/pool.js';
import { rowsOf, sql } from '../connection/statement.js';
import { type LaneWrite, laneStatement } from '../lanes/lane-statements.js';
import type { Lanes } from '../lanes/lanes.js';
import { isOneOf } from './transition-sql.js';

interface Row {
  readonly id: string;
  readonly key: string;
  readonly agent_id: string;
  readonly reason: string;
  readonly noted_at: number;
}

interface NewExclusion {
  readonly taskId: string;
  readonly exclusion: Exclusion;
}

/** In the lane of the removals, so that none is left of a removed task. */
const PUT: LaneWrite<NewExclusion, null> = {
  statement: laneStatement({
    isDurable: false,
    parameters: { taskIds: 'text[]', agentIds: 'text[]', reasons: 'text[]', notedAts: 'bigint[]' },
    parts: `
      excluded_agents AS (
        INSERT INTO task_exclusion (task_seq, agent_id, reason, noted_at)
        SELECT task_request.task_seq, given.agent_id, given.reason, given.noted_at
        FROM held, unnest(:taskIds, :agentIds, :reasons, :notedAts) AS given (task_id, agent_id, reason, noted_at)
          JOIN task_request ON task_request.id = given.task_id
        ON CONFLICT (task_seq, agent_id) DO UPDATE SET reason = excluded.reason, noted_at = excluded.noted_at)`,
    outcome: "'null'",
  }),
  isDurable: false,
  keys: ({ taskId }) => [taskId],
  values: (calls) => ({
    taskIds: calls.map(({ taskId }) => taskId),
    agentIds: calls.map(({ exclusion }) => exclusion.agentId),
    reasons: calls.map(({ exclusion }) => exclusion.reason),
    notedAts: calls.map(({ exclusion }) => exclusion.atMs),
  }),
  results: (calls) => calls.map(() => null),
};

const SINCE = sql(
  { after: 'bigint' },
  `SELECT task_request.id, requirement.key, noted.agent_id, reason, noted_at
   FROM (SELECT task_seq, agent_id, reason, noted_at FROM task_exclusion WHERE noted_at > :after) AS noted
   JOIN task ON task.seq = noted.task_seq AND ${isOneOf(['WAITING', 'RUNNING'])}
   JOIN task_request ON task_request.task_seq = noted.task_seq
   JOIN requirement ON requirement.id = task.requirement_id
   ORDER BY noted_at, task_request.id, noted.agent_id`,
);

export function postgresTaskExclusions(db: Database, { change }: Lanes): TaskExclusions {
  return {
    put: async (taskId, exclusion) => void (await change.write(PUT, { taskId, exclusion })),
    since: async (atMs) =>
      (await rowsOf<Row, 'after'>(db, SINCE, { after: atMs })).map((row) => ({
        taskId: row.id,
        requirement: requirementOfKey(row.key),
        exclusion: { agentId: row.agent_id, reason: row.reason, atMs: row.noted_at },
      })),
  };
}
