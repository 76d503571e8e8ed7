import type { WaitingTask } from '../../core/match-tasks.js';
import type { TaskQueue } from '../../core/ports/task-store.js';
import type { SqliteDatabase } from './database.js';
import { TASK_COLUMNS, TASK_TABLES, type TaskRow, taskOfRow } from './task-row.js';

interface HeadRow {
  seq: number;
  id: string;
  priority: number;
}

interface Place {
  priority: number;
  seq: number;
}

type QueueReads = Pick<
  TaskQueue,
  'waitingGroups' | 'heads' | 'countAhead' | 'runningOn' | 'agentsWithRunning'
>;

/** The part of the queue port that only reads. */
export function queueReads(db: SqliteDatabase): QueueReads {
  const selectGroups = db
    .prepare<[], string>(`
      SELECT key FROM requirement
      WHERE EXISTS (SELECT 1 FROM task WHERE requirement_id = requirement.id AND status = 'WAITING')`)
    .pluck();
  const selectHeads = db.prepare<[string, number], HeadRow>(`
    SELECT seq, id, priority FROM task
    WHERE requirement_id = (SELECT id FROM requirement WHERE key = ?) AND status = 'WAITING'
    ORDER BY priority, seq LIMIT ?`);
  const selectPlace = db.prepare<[string], Place>('SELECT priority, seq FROM task WHERE id = ?');
  const countAhead = db
    .prepare<[string, number, number], number>(`
      SELECT count(*) FROM task
      WHERE requirement_id IN (SELECT id FROM requirement WHERE key IN (SELECT value FROM json_each(?)))
        AND status = 'WAITING' AND (priority, seq) < (?, ?)`)
    .pluck();
  const selectRunning = db
    .prepare<[string], TaskRow>(
      `SELECT ${TASK_COLUMNS} FROM ${TASK_TABLES} WHERE status = 'RUNNING' AND agent_id = ?`,
    )
    .raw();
  const selectAgents = db
    .prepare<[], string>(`SELECT DISTINCT agent_id FROM task WHERE status = 'RUNNING'`)
    .pluck();

  return {
    waitingGroups: async () => selectGroups.all(),
    heads: async (groups) =>
      groups.flatMap(({ requirementKey, limit }) =>
        selectHeads.all(requirementKey, limit).map(
          ({ id, priority, seq }): WaitingTask => ({
            taskId: id,
            requirementKey,
            priorityRank: priority,
            sequence: seq,
          }),
        ),
      ),
    countAhead: async (groups, of) => {
      const place =
        'taskId' in of
          ? selectPlace.get(of.taskId)
          : { priority: of.newWithPriorityRank, seq: Number.MAX_SAFE_INTEGER };
      return place ? (countAhead.get(JSON.stringify(groups), place.priority, place.seq) ?? 0) : 0;
    },
    runningOn: async (agentId) => selectRunning.all(agentId).map(taskOfRow),
    agentsWithRunning: async () => selectAgents.all(),
  };
}
