import type { FileRef, Job } from '@workbench-hub/shared/domain/job';
import type { FormerAttempt, TaskArchive } from '../../../core/ports/task-archive.js';
import { TASK_TRANSITIONS, type TaskFiles } from '../../../core/task.js';
import type { SqliteDatabase } from '../connection/database.js';
import type { GroupCommit } from '../connection/group-commit.js';
import type { PendingCompletions } from '../connection/pending-completions.js';
import type { TaskLists } from '../lists/task-lists.js';
import type { ChangedTasks } from '../rows/changed-tasks.js';
import { TASK_COLUMNS, TASK_TABLES, type TaskRow, taskOfRow } from '../rows/task-row.js';

interface FileRow {
  role: 'OUTPUT' | 'LOG';
  path: string;
  digest: string;
  size_bytes: number;
  encrypted: number;
}

/** References to a content that are looked at. */
const MAX_REFERENCES = 2000;

interface AttemptRow {
  attempt: number;
  agent_id: string;
  instance_id: string;
  instance_version: string;
  instance_revision: string;
  started_at: number | null;
  ended_at: number | null;
  loss: FormerAttempt['loss'];
  reason: string | null;
}

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
  const selectAttempts = db.prepare<[string], AttemptRow>(`
    SELECT attempt, agent_id, instance_id, instance_version, instance_revision, started_at, ended_at, loss, reason
    FROM former_attempt WHERE task_seq = (SELECT seq FROM task WHERE id = ?) ORDER BY attempt`);
  const deleteTask = db
    .prepare<[string, string], number>(
      'DELETE FROM task WHERE id = ? AND status IN (SELECT value FROM json_each(?)) RETURNING seq',
    )
    .pluck();
  const selectEnded = db.prepare<[number, number], { id: string }>(
    'SELECT id FROM task WHERE ended_at < ? ORDER BY ended_at LIMIT ?',
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
    filesOf: async (taskId): Promise<TaskFiles> => {
      const rows = selectFiles.all(taskId);
      const ref = ({ digest, size_bytes, encrypted }: FileRow): FileRef => ({
        digest,
        sizeBytes: size_bytes,
        ...(encrypted ? { encrypted: true } : {}),
      });
      const storedFiles = selectStored.all(taskId);
      const log = rows.find(({ role }) => role === 'LOG');
      return {
        outputFiles: rows
          .filter(({ role }) => role === 'OUTPUT')
          .map((row) => ({ path: row.path, ...ref(row) })),
        log: log ? ref(log) : null,
        ...(storedFiles.length === 0 ? {} : { storedFiles }),
      };
    },
    jobOf: async (taskId) => {
      const job = selectJob.get(taskId);
      return job === undefined ? undefined : (JSON.parse(job) as Job);
    },
    formerAttempts: async (taskId) => selectAttempts.all(taskId).map(formerAttempt),
    withInput: withInput(db),
    list: (query, client) => lists.list(query, client),
    window: (query, client) => lists.window(query, client),
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

function formerAttempt(row: AttemptRow): FormerAttempt {
  return {
    attempt: row.attempt,
    instance: {
      id: row.instance_id,
      version: row.instance_version,
      revision: row.instance_revision,
      agentId: row.agent_id,
    },
    startedAtMs: row.started_at,
    endedAtMs: row.ended_at,
    loss: row.loss,
    reason: row.reason,
  };
}
