import type { WaitingTask } from '../../../core/match-tasks.js';
import type { TaskQueue } from '../../../core/ports/task-queue.js';
import { type RunningAttemptRow, runningAttemptOfRow } from '../../rows/attempt-row.js';
import { type GroupRow, groupsOfRows, type HeadRow, waitingTaskOfRow } from '../../rows/queue-row.js';
import { taskOfRow } from '../../rows/task-row.js';
import type { Database } from '../connection/pool.js';
import { rowOf, rowsOf, sql } from '../connection/statement.js';
import { type RowWithTask, TASK_JOINS, TASK_JSON } from '../rows/task-columns.js';
import { isOneOf } from './transition-sql.js';

interface WaitingRow extends HeadRow {
  readonly group_id: number;
  readonly key: string;
}

const GROUPS = sql(
  { afterId: 'bigint', limit: 'bigint', maxKeyBytes: 'bigint' },
  `SELECT id, CASE WHEN octet_length(key) <= :maxKeyBytes
     AND EXISTS (SELECT FROM task WHERE requirement_id = requirement.id AND status = 'WAITING') THEN key END AS key
   FROM requirement WHERE id > :afterId ORDER BY id LIMIT :limit`,
);

const HEADS = sql(
  { groupIds: 'bigint[]', limits: 'bigint[]' },
  `SELECT head.seq, task_request.id, head.priority, task_request.time_limit_s, requirement.id AS group_id, requirement.key
   FROM unnest(:groupIds, :limits) WITH ORDINALITY AS asked (group_id, size, at)
   JOIN requirement ON requirement.id = asked.group_id
   CROSS JOIN LATERAL (
     SELECT seq, priority FROM task WHERE task.requirement_id = asked.group_id AND status = 'WAITING'
     ORDER BY priority, seq LIMIT asked.size) AS head
   JOIN task_request ON task_request.task_seq = head.seq
   ORDER BY asked.at, head.priority, head.seq`,
);

const WAITING = sql(
  { taskIds: 'text[]' },
  `SELECT task.seq, task_request.id, task.priority, task_request.time_limit_s, requirement.id AS group_id, requirement.key
   FROM unnest(:taskIds) WITH ORDINALITY AS asked (id, at) JOIN task_request ON task_request.id = asked.id
   JOIN task ON task.seq = task_request.task_seq AND ${isOneOf(['WAITING'])}
   JOIN requirement ON requirement.id = task.requirement_id ORDER BY asked.at`,
);

/** Index entries are counted up to the limit, group by group. */
const AHEAD = sql(
  { groupIds: 'bigint[]', taskId: 'text', priority: 'smallint', limit: 'bigint' },
  `WITH place AS (
     SELECT priority, seq FROM task_request JOIN task ON seq = task_seq WHERE task_request.id = :taskId
     UNION ALL SELECT :priority, 9223372036854775807 WHERE :priority IS NOT NULL)
   SELECT count(*) AS ahead FROM (
     SELECT 1 FROM place, unnest(:groupIds) AS asked (id), LATERAL (
       SELECT 1 FROM task WHERE requirement_id = asked.id AND status = 'WAITING'
         AND (task.priority, task.seq) < (place.priority, place.seq) LIMIT :limit) AS task LIMIT :limit) AS counted`,
);

/** Index entries are taken before anything else is read. */
const WITHIN = sql(
  { groupId: 'bigint', timeLimitS: 'bigint', withoutLimit: 'boolean', limit: 'bigint' },
  `SELECT count(*) AS within FROM (
     SELECT seq FROM task WHERE requirement_id = :groupId AND status = 'WAITING'
     ORDER BY priority, seq LIMIT :limit) AS counted
   JOIN task_request ON task_request.task_seq = counted.seq
   WHERE CASE WHEN time_limit_s IS NULL THEN :withoutLimit ELSE time_limit_s <= :timeLimitS END`,
);

/** Index entries are taken from both ends before anything else is read. */
const BY_CREATOR = sql(
  { groupId: 'bigint', timeLimitS: 'bigint', withoutLimit: 'boolean', limit: 'bigint' },
  `SELECT coalesce(task_request.creator, '') AS creator, count(*)::integer AS waiting FROM (
     (SELECT seq FROM task WHERE requirement_id = :groupId AND status = 'WAITING'
      ORDER BY priority, seq LIMIT :limit)
     UNION (SELECT seq FROM task WHERE requirement_id = :groupId AND status = 'WAITING'
      ORDER BY priority DESC, seq DESC LIMIT :limit)) AS counted
   JOIN task_request ON task_request.task_seq = counted.seq
   WHERE CASE WHEN time_limit_s IS NULL THEN :withoutLimit ELSE time_limit_s <= :timeLimitS END
   GROUP BY 1 ORDER BY 1`,
);

const RUNNING = sql(
  { agentId: 'text' },
  `SELECT ${TASK_JSON} AS task FROM task ${TASK_JOINS} WHERE task.status = 'RUNNING' AND task.agent_id = :agentId ORDER BY task.seq`,
);
const ATTEMPTS = sql(
  {},
  `SELECT task_request.id, task.attempt, task.agent_id, task.instance_id
   FROM task JOIN task_request ON task_seq = seq WHERE status = 'RUNNING'`,
);

type QueueReads = Pick<
  TaskQueue,
  | 'waitingGroups'
  | 'heads'
  | 'waiting'
  | 'countAhead'
  | 'countWithin'
  | 'countByCreator'
  | 'runningOn'
  | 'running'
>;

/** The part of the queue port that only reads. */
export function queueReads(db: Database): QueueReads {
  return {
    waitingGroups: async ({ afterGroupId, limit, maxKeyBytes }) => {
      const values = { afterId: afterGroupId, limit, maxKeyBytes };
      const rows = await rowsOf<GroupRow, keyof typeof values>(db, GROUPS, values);
      return groupsOfRows(rows, limit);
    },
    heads: async (groups) => {
      if (groups.length === 0) return [];
      const values = {
        groupIds: groups.map(({ groupId }) => groupId),
        limits: groups.map(({ limit }) => limit),
      };
      return waitingTasks(await rowsOf<WaitingRow, keyof typeof values>(db, HEADS, values));
    },
    waiting: async (taskIds) => waitingTasks(await rowsOf<WaitingRow, 'taskIds'>(db, WAITING, { taskIds })),
    countAhead: async (groupIds, place, limit) => {
      const values = {
        groupIds,
        taskId: 'taskId' in place ? place.taskId : null,
        priority: 'taskId' in place ? null : place.newWithPriorityRank,
        limit,
      };
      return (await rowOf<{ ahead: number }, keyof typeof values>(db, AHEAD, values))?.ahead ?? 0;
    },
    countWithin: async (groupId, { timeLimitS, withoutLimit }, limit) => {
      const values = { groupId, timeLimitS, withoutLimit, limit };
      return (await rowOf<{ within: number }, keyof typeof values>(db, WITHIN, values))?.within ?? 0;
    },
    countByCreator: async (groupId, { timeLimitS, withoutLimit }, limit) => {
      const values = { groupId, timeLimitS, withoutLimit, limit };
      const rows = await rowsOf<{ creator: string; waiting: number }, keyof typeof values>(
        db,
        BY_CREATOR,
        values,
      );
      return new Map(rows.map(({ creator, waiting }) => [creator, waiting]));
    },
    runningOn: async (agentId) =>
      (await rowsOf<RowWithTask, 'agentId'>(db, RUNNING, { agentId })).map(({ task }) => taskOfRow(task)),
    running: async () => (await rowsOf<RunningAttemptRow>(db, ATTEMPTS, {})).map(runningAttemptOfRow),
  };
}

/** The tasks of a group share one key, whatever its length. */
function waitingTasks(rows: readonly WaitingRow[]): WaitingTask[] {
  const keys = new Map<number, string>();
  return rows.map((row) => {
    const { group_id: groupId, key } = row;
    const requirementKey = keys.get(groupId) ?? key;
    keys.set(groupId, requirementKey);
    return waitingTaskOfRow(row, groupId, requirementKey);
  });
}
