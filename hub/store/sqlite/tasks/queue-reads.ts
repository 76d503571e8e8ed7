import type { TaskQueue } from '../../../core/ports/task-queue.js';
import { type RunningAttemptRow, runningAttemptOfRow } from '../../rows/attempt-row.js';
import { type GroupRow, groupsOfRows, type HeadRow, waitingTaskOfRow } from '../../rows/queue-row.js';
import { type TaskRow, taskOfRow } from '../../rows/task-row.js';
import type { SqliteDatabase } from '../connection/database.js';
import { TASK_COLUMNS, TASK_TABLES } from '../rows/task-columns.js';

interface WaitingRow extends HeadRow {
  group_id: number;
  key: string;
}

interface Place {
  priority: number;
  seq: number;
}

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

/** Index entries are taken from both ends before anything else is read. */
const BY_CREATOR = `
  SELECT coalesce(creator, '') AS creator, count(*) AS waiting FROM task
  WHERE seq IN (
      SELECT seq FROM (SELECT seq FROM task WHERE requirement_id = :groupId AND status = 'WAITING'
        ORDER BY priority, seq LIMIT :limit)
      UNION SELECT seq FROM (SELECT seq FROM task WHERE requirement_id = :groupId AND status = 'WAITING'
        ORDER BY priority DESC, seq DESC LIMIT :limit))
    AND iif(time_limit_s IS NULL, :withoutLimit, time_limit_s <= :timeLimitS)
  GROUP BY 1 ORDER BY 1`;

/** The part of the queue port that only reads. */
export function queueReads(db: SqliteDatabase): QueueReads {
  const selectGroups = db.prepare<[number, number, number], GroupRow>(`
    SELECT id, CASE WHEN octet_length(key) <= ?
      AND EXISTS (SELECT 1 FROM task WHERE requirement_id = requirement.id AND status = 'WAITING') THEN key END AS key
    FROM requirement WHERE id > ? ORDER BY id LIMIT ?`);
  const selectKey = db.prepare<[number], string>('SELECT key FROM requirement WHERE id = ?').pluck();
  const selectHeads = db.prepare<[number, number], HeadRow>(`
    SELECT seq, id, priority, time_limit_s FROM task
    WHERE requirement_id = ? AND status = 'WAITING' ORDER BY priority, seq LIMIT ?`);
  const selectWaiting = db.prepare<[string], WaitingRow>(`
    SELECT seq, task.id, priority, time_limit_s, requirement_id AS group_id, key
    FROM task JOIN requirement ON requirement.id = requirement_id
    WHERE task.id = ? AND status = 'WAITING'`);
  const selectPlace = db.prepare<[string], Place>('SELECT priority, seq FROM task WHERE id = ?');
  const countAhead = db
    .prepare<[string, number, number, number], number>(`
      SELECT count(*) FROM (
        SELECT 1 FROM json_each(?) AS asked CROSS JOIN task
        WHERE requirement_id = asked.value AND status = 'WAITING' AND (priority, seq) < (?, ?) LIMIT ?)`)
    .pluck();
  const countWithin = db
    .prepare<[number, number, number, number], number>(`
      SELECT count(*) FROM (
        SELECT time_limit_s FROM task WHERE requirement_id = ? AND status = 'WAITING'
        ORDER BY priority, seq LIMIT ?)
      WHERE iif(time_limit_s IS NULL, ?, time_limit_s <= ?)`)
    .pluck();
  const countByCreator = db.prepare<
    [{ groupId: number; limit: number; withoutLimit: number; timeLimitS: number }],
    { creator: string; waiting: number }
  >(BY_CREATOR);
  const selectRunning = db
    .prepare<[string], TaskRow>(
      `SELECT ${TASK_COLUMNS} FROM ${TASK_TABLES} WHERE status = 'RUNNING' AND agent_id = ?`,
    )
    .raw();
  const selectAttempts = db.prepare<[], RunningAttemptRow>(
    `SELECT id, attempt, agent_id, instance_id FROM task WHERE status = 'RUNNING'`,
  );

  return {
    waitingGroups: async ({ afterGroupId, limit, maxKeyBytes }) => {
      return groupsOfRows(selectGroups.all(maxKeyBytes, afterGroupId, limit), limit);
    },
    heads: async (groups) =>
      groups.flatMap(({ groupId, limit }) => {
        const rows = selectHeads.all(groupId, limit);
        const key = rows.length === 0 ? '' : (selectKey.get(groupId) as string);
        return rows.map((row) => waitingTaskOfRow(row, groupId, key));
      }),
    waiting: async (taskIds) =>
      taskIds.flatMap((taskId) => {
        const row = selectWaiting.get(taskId);
        return row ? [waitingTaskOfRow(row, row.group_id, row.key)] : [];
      }),
    countAhead: async (groupIds, ahead, limit) => {
      const place =
        'taskId' in ahead
          ? selectPlace.get(ahead.taskId)
          : { priority: ahead.newWithPriorityRank, seq: Number.MAX_SAFE_INTEGER };
      return place ? (countAhead.get(JSON.stringify(groupIds), place.priority, place.seq, limit) ?? 0) : 0;
    },
    countWithin: async (groupId, { timeLimitS, withoutLimit }, limit) =>
      countWithin.get(groupId, limit, Number(withoutLimit), timeLimitS) ?? 0,
    countByCreator: async (groupId, { timeLimitS, withoutLimit }, limit) => {
      const values = { groupId, limit, withoutLimit: Number(withoutLimit), timeLimitS };
      const rows = countByCreator.all(values);
      return new Map(rows.map(({ creator, waiting }) => [creator, waiting]));
    },
    runningOn: async (agentId) => selectRunning.all(agentId).map(taskOfRow),
    running: async () => selectAttempts.all().map(runningAttemptOfRow),
  };
}
