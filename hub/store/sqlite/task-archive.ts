import { priorityRank } from '@workbench-hub/shared/domain/priority';
import type { TaskArchive, TaskOrder, TaskQuery } from '../../core/ports/task-store.js';
import { TASK_TRANSITIONS, type TaskFiles } from '../../core/task.js';
import type { SqliteDatabase } from './database.js';
import type { GroupCommit } from './group-commit.js';
import { TASK_COLUMNS, TASK_TABLES, type TaskRow, taskOfRow } from './task-row.js';

const ORDER_BY: Readonly<Record<TaskOrder, string>> = {
  NEWEST_FIRST: 'seq DESC',
  NEXT_TO_RUN_FIRST: 'priority, seq',
  LONGEST_RUNNING_FIRST: 'started_at, seq',
};

interface FileRow {
  role: 'OUTPUT' | 'LOG';
  path: string;
  digest: string;
  size_bytes: number;
}

export function sqliteTaskArchive(db: SqliteDatabase, commit: GroupCommit): TaskArchive {
  const selectTask = db.prepare<[string], TaskRow>(
    `SELECT ${TASK_COLUMNS} FROM ${TASK_TABLES} WHERE task.id = ?`,
  );
  const selectFiles = db.prepare<[string], FileRow>(`
    SELECT role, path, digest, size_bytes FROM task_file
    WHERE task_seq = (SELECT seq FROM task WHERE id = ?) AND role IN ('OUTPUT', 'LOG')
    ORDER BY role, position`);
  const deleteTask = db.prepare<[string, string]>(
    'DELETE FROM task WHERE id = ? AND status IN (SELECT value FROM json_each(?))',
  );
  const selectEnded = db.prepare<[number, number], { id: string }>(
    'SELECT id FROM task WHERE ended_at < ? ORDER BY ended_at LIMIT ?',
  );
  const removable = JSON.stringify(TASK_TRANSITIONS.remove.from);

  return {
    find: async (taskId) => {
      const row = selectTask.get(taskId);
      return row && taskOfRow(row);
    },
    filesOf: async (taskId): Promise<TaskFiles> => {
      const rows = selectFiles.all(taskId);
      const ref = ({ digest, size_bytes }: FileRow) => ({ digest, sizeBytes: size_bytes });
      const log = rows.find(({ role }) => role === 'LOG');
      return {
        outputFiles: rows
          .filter(({ role }) => role === 'OUTPUT')
          .map((row) => ({ path: row.path, ...ref(row) })),
        log: log ? ref(log) : null,
      };
    },
    list: async (query) => {
      const { condition, values } = conditionOf(query);
      const total = db
        .prepare<unknown[], { total: number }>(`SELECT count(*) AS total FROM task ${condition}`)
        .get(...values) as { total: number };
      const rows = db
        .prepare<unknown[], TaskRow>(
          `SELECT ${TASK_COLUMNS} FROM ${TASK_TABLES} ${condition} ORDER BY ${ORDER_BY[query.order ?? 'NEWEST_FIRST']} LIMIT ? OFFSET ?`,
        )
        .all(...values, query.size, query.page * query.size);
      return { tasks: rows.map(taskOfRow), totalElements: total.total };
    },
    remove: (taskIds) => commit.durable(() => taskIds.map((id) => deleteTask.run(id, removable).changes > 0)),
    endedBefore: async (timeMs, limit) => selectEnded.all(timeMs, limit).map(({ id }) => id),
  };
}

function conditionOf(query: TaskQuery): { condition: string; values: unknown[] } {
  const parts: string[] = [];
  const values: unknown[] = [];
  const add = (part: string, value: unknown) => {
    parts.push(part);
    values.push(value);
  };
  const addPattern = (column: string, pattern: string | undefined) => {
    if (pattern === undefined) return;
    if (/[*?]/.test(pattern)) add(`${column} GLOB ?`, pattern.replaceAll('[', '[[]'));
    else add(`${column} = ?`, pattern);
  };
  addPattern('task.id', query.id);
  addPattern('name_folded', query.name?.toLowerCase());
  addPattern('creator', query.creator);
  if (query.type) add('type = ?', query.type);
  if (query.priority) add('priority = ?', priorityRank(query.priority));
  if (query.statuses.length > 0) {
    add('status IN (SELECT value FROM json_each(?))', JSON.stringify(query.statuses));
  }
  return { condition: parts.length > 0 ? `WHERE ${parts.join(' AND ')}` : '', values };
}
