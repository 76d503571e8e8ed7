import type { Job } from '@workbench-hub/shared/domain/job';
import type { TaskArchive } from '../../../core/ports/task-archive.js';
import { TASK_TRANSITIONS } from '../../../core/task.js';
import { type FormerAttemptRow, formerAttemptOfRow } from '../../rows/attempt-row.js';
import { type FileRow, filesOfRows } from '../../rows/file-row.js';
import { MAX_REFERENCES } from '../../rows/limits.js';
import { type TaskRow, taskOfRow } from '../../rows/task-row.js';
import type { SqliteDatabase } from '../connection/database.js';
import type { GroupCommit } from '../connection/group-commit.js';
import type { PendingCompletions } from '../connection/pending-completions.js';
import type { TaskLists } from '../lists/task-lists.js';
import { checkpoints } from '../objects/file-references.js';
import type { ChangedTasks } from '../rows/changed-tasks.js';
import { TASK_COLUMNS, TASK_TABLES } from '../rows/task-columns.js';

/** Condition that a task may be removed: no other hub needs its result any more. */
const HAS_NO_OPEN_LOAN = 'NOT EXISTS (SELECT 1 FROM open_loan WHERE task_seq = task.seq)';

export function sqliteTaskArchive(
  db: SqliteDatabase,
  commit: GroupCommit,
  lists: TaskLists,
  changed: ChangedTasks,
  pending: PendingCompletions,
): TaskArchive {
  const selectTask = db
    .prepare<[string], TaskRow>(`SELECT ${TASK_COLUMNS} FROM ${TASK_TABLES} WHERE task.id = ?`)
    .raw();
  const selectFiles = db.prepare<[string], FileRow>(`
    SELECT role, path, digest, size_bytes, encrypted FROM task_file
    WHERE task_seq = (SELECT seq FROM task WHERE id = ?) AND role IN ('OUTPUT', 'LOG')
    ORDER BY role, position`);
  const selectStored = db.prepare<[string], { name: string; sizeBytes: number }>(`
    SELECT name, size_bytes AS sizeBytes FROM task_stored_file
    WHERE task_seq = (SELECT seq FROM task WHERE id = ?) ORDER BY position`);
  const selectJob = db.prepare<[string], string>('SELECT job FROM task WHERE id = ?').pluck();
  const selectCheckpoint = checkpoints(db).of;
  const selectSeq = db.prepare<[string], number>('SELECT seq FROM task WHERE id = ?').pluck();
  const selectAttempts = db.prepare<[string], FormerAttemptRow>(`
    SELECT attempt, agent_id, instance_id, instance_version, instance_revision, started_at, ended_at, loss, reason
    FROM former_attempt WHERE task_seq = (SELECT seq FROM task WHERE id = ?) ORDER BY attempt`);
  const deleteTask = db
    .prepare<[string, string], number>(
      `DELETE FROM task WHERE id = ? AND status IN (SELECT value FROM json_each(?)) AND ${HAS_NO_OPEN_LOAN} RETURNING seq`,
    )
    .pluck();
  const selectEnded = db.prepare<[number, number], { id: string }>(
    `SELECT id FROM task WHERE ended_at < ? AND ${HAS_NO_OPEN_LOAN} ORDER BY ended_at LIMIT ?`,
  );
  const removable = JSON.stringify(TASK_TRANSITIONS.remove.from);

  const removeOne = (taskId: string): boolean => {
    const seq = deleteTask.get(taskId, removable);
    if (seq !== undefined) changed.removed(seq, taskId);
    return seq !== undefined;
  };

  return {
    find: async (taskId) => {
      // A failure is reported to the caller that ends the task.
      await pending.get(taskId)?.catch(() => undefined);
      const row = selectTask.get(taskId);
      return row && taskOfRow(row);
    },
    filesOf: async (taskId) => filesOfRows(selectFiles.all(taskId), selectStored.all(taskId)),
    jobOf: async (taskId) => {
      const job = selectJob.get(taskId);
      return job === undefined ? undefined : (JSON.parse(job) as Job);
    },
    checkpointOf: async (taskId) => {
      const seq = selectSeq.get(taskId);
      return seq === undefined ? [] : selectCheckpoint(seq);
    },
    formerAttempts: async (taskId) => selectAttempts.all(taskId).map(formerAttemptOfRow),
    withInput: withInput(db),
    list: (query, signal) => lists.list(query, signal),
    window: (query, signal) => lists.window(query, signal),
    remove: (taskIds) => commit.freeing(() => taskIds.map(removeOne)),
    endedBefore: async (timeMs, limit) => selectEnded.all(timeMs, limit).map(({ id }) => id),
  };
}

function withInput(db: SqliteDatabase): TaskArchive['withInput'] {
  const selectReferences = db.prepare<[string, number], { seq: number; role: string; encrypted: number }>(
    'SELECT task_seq AS seq, role, encrypted FROM task_file WHERE digest = ? ORDER BY task_seq DESC LIMIT ?',
  );
  const selectBySeq = db
    .prepare<[number], TaskRow>(`SELECT ${TASK_COLUMNS} FROM ${TASK_TABLES} WHERE task.seq = ?`)
    .raw();
  return async ({ digest, encrypted = false }, limit) => {
    const references = selectReferences.all(digest, MAX_REFERENCES);
    const inputs = references.filter((each) => each.role === 'INPUT' && (each.encrypted === 1) === encrypted);
    const seqs = [...new Set(inputs.map(({ seq }) => seq))];
    const rows = seqs.slice(0, limit).map((seq) => selectBySeq.get(seq));
    return {
      tasks: rows.flatMap((row) => (row ? [taskOfRow(row)] : [])),
      isComplete: references.length < MAX_REFERENCES && seqs.length <= limit,
    };
  };
}
