/** Writes of a task's transitions, one row each. To be called within a transaction. */
import type { Job } from '@workbench-hub/shared/domain/job';
import { nextState, type Transition } from '@workbench-hub/shared/domain/state-machine';
import type { AttemptRef, TaskStatus } from '@workbench-hub/shared/domain/task';
import type { NamedObject } from '../../../core/ports/named-objects.js';
import type {
  AdoptedAttempt,
  CanceledAttempt,
  Claim,
  ClaimedTask,
  EndedAttempt,
  HeldAttempt,
  RequeuedAttempt,
} from '../../../core/ports/task-queue.js';
import { TASK_TRANSITIONS, type TaskFiles } from '../../../core/task.js';
import { type TaskRow, taskOfRow } from '../../rows/task-row.js';
import type { SqliteDatabase } from '../connection/database.js';
import { type Checkpoints, checkpoints, fileReferences } from '../objects/file-references.js';
import type { NameTable } from '../objects/named-objects.js';
import type { ChangedTasks } from '../rows/changed-tasks.js';
import { RETURNED_TASK_COLUMNS } from '../rows/task-columns.js';

type ClaimedRow = [seq: number, job: string, ...task: TaskRow];

/** Condition that selects the active attempt; binds task id, attempt and instance id. */
const ACTIVE_ATTEMPT = 'id = ? AND attempt = ? AND instance_id = ?';

/** SQL conditions and assignments of the task's transitions. */
const from = ({ from: statuses }: Transition<TaskStatus | '-'>) =>
  `status IN (${statuses.map((status) => `'${status}'`).join(', ')})`;
const to = (transition: Transition<TaskStatus | '-'>) => `status = '${nextState(transition)}'`;
const { claim, adopt, end, requeue, cancel, keepFiles } = TASK_TRANSITIONS;

const CLAIM = `
  UPDATE task SET ${to(claim)}, attempt = attempt + 1, started_at = ?, agent_id = ?, instance_id = ?,
                  instance_version = ?, instance_revision = ?
  WHERE id = ? AND ${from(claim)}
  RETURNING seq, job, ${RETURNED_TASK_COLUMNS}`;
const ADOPT = `
  UPDATE task SET ${to(adopt)}, attempt = @attempt, started_at = @startedAtMs, agent_id = @agentId,
                  instance_id = @instanceId, instance_version = @version, instance_revision = @revision
  WHERE id = @taskId AND ${from(adopt)}
    AND ((@isProven AND attempt = @attempt - 1) OR (attempt = @attempt AND instance_id = @instanceId AND agent_id = @agentId))
  RETURNING seq, requirement_id AS dequeuedFrom`;
const END = `
  UPDATE task SET status = ?, batch_status = ?, message = ?, ended_at = ?
  WHERE ${ACTIVE_ATTEMPT} AND ${from(end)} RETURNING seq`;
const REQUEUE = `
  UPDATE task SET ${to(requeue)}, started_at = NULL, crashes = crashes + ?, losses = losses + ?, instance_id = ?
  WHERE ${ACTIVE_ATTEMPT} AND ${from(requeue)} RETURNING seq`;
/** Keeps what the row of the task is about to lose. */
const KEEP_ATTEMPT = `
  INSERT OR REPLACE INTO former_attempt (task_seq, attempt, agent_id, instance_id, instance_version, instance_revision,
                                         started_at, ended_at, loss, reason)
  SELECT seq, attempt, coalesce(agent_id, ''), instance_id, coalesce(instance_version, ''),
         coalesce(instance_revision, ''), started_at, ?, ?, ?
  FROM task WHERE ${ACTIVE_ATTEMPT} AND ${from(requeue)}`;
const FORGET_ATTEMPT = 'DELETE FROM former_attempt WHERE task_seq = ? AND attempt = ?';
const CANCEL = `
  UPDATE task SET ${to(cancel)}, ended_at = ?
  WHERE id = ? AND status IN (SELECT value FROM json_each(?)) RETURNING seq`;
/** Only once: not when some files of the attempt are there. */
const KEEP_FILES = `
  UPDATE task SET ${to(keepFiles)}
  WHERE ${ACTIVE_ATTEMPT} AND ${from(keepFiles)} AND started_at IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM task_file WHERE task_seq = seq AND role IN ('OUTPUT', 'LOG'))
    AND NOT EXISTS (SELECT 1 FROM task_stored_file WHERE task_seq = seq)
  RETURNING seq`;
const IS_ACTIVE = `SELECT 1 FROM task WHERE ${ACTIVE_ATTEMPT} AND agent_id = ? AND ${from(end)}`;

/** Each returns whether the transition took place. */
export interface AttemptWrites {
  /** The claimed task, or nothing. */
  claim(claim: Claim): ClaimedTask[];
  /** Null when the attempt is not active. */
  adopt(held: HeldAttempt): AdoptedAttempt | null;
  end(ended: EndedAttempt): boolean;
  keepFiles(canceled: CanceledAttempt): boolean;
  requeue(requeued: RequeuedAttempt): boolean;
  /** `from` is a JSON list of statuses. */
  cancel(taskId: string, from: string, endedAtMs: number): boolean;
}

/** Prepares the statements, once for each database. */
export function attemptWrites(db: SqliteDatabase, tasks: ChangedTasks, names: NameTable): AttemptWrites {
  const seqOf = <Values extends unknown[]>(sql: string) => db.prepare<Values, number>(sql).pluck();
  const adoptTask = db.prepare<[Record<string, unknown>], { seq: number; dequeuedFrom: number }>(ADOPT);
  const selectActive = db.prepare<[string, number, string, string]>(IS_ACTIVE);
  const forgetAttempt = db.prepare<[number, number]>(FORGET_ATTEMPT);
  const keepFilesOf = seqOf<[string, number, string]>(KEEP_FILES);
  const nameFiles = fileNaming(db, names);
  const kept = checkpoints(db);
  const cancelTask = seqOf<[number, string, string]>(CANCEL);

  return {
    claim: claimWrite(db, tasks, kept),
    adopt: ({ ref, instance, startedAtMs, isProven }) => {
      const adopted = adoptTask.get({ ...ref, startedAtMs, ...instance, isProven: isProven ? 1 : 0 });
      if (adopted) {
        tasks.changed(adopted.seq);
        forgetAttempt.run(adopted.seq, ref.attempt);
      }
      const isActive = adopted ?? selectActive.get(...fence(ref), instance.agentId);
      return isActive === undefined ? null : { dequeuedFrom: adopted?.dequeuedFrom ?? null };
    },
    end: endWrite(db, tasks, nameFiles, kept),
    keepFiles: ({ ref, files, storedFiles }) => {
      const seq = keepFilesOf.get(...fence(ref));
      if (seq === undefined) return false;
      nameFiles(seq, files, storedFiles);
      tasks.changed(seq);
      return true;
    },
    requeue: requeueWrite(db, tasks, kept),
    cancel: (taskId, statuses, endedAtMs) => {
      const seq = cancelTask.get(endedAtMs, taskId, statuses);
      if (seq === undefined) return false;
      kept.drop(seq);
      tasks.taskEnded(seq);
      return true;
    },
  };
}

function claimWrite(db: SqliteDatabase, tasks: ChangedTasks, kept: Checkpoints): AttemptWrites['claim'] {
  const update = db.prepare<[number, string, string, string, string, string], ClaimedRow>(CLAIM).raw();
  const claimTask: AttemptWrites['claim'] = ({ taskId, instance, startedAtMs }) => {
    const { id: instanceId, agentId, version, revision } = instance;
    const row = update.get(startedAtMs, agentId, instanceId, version, revision, taskId);
    if (!row) return [];
    const [seq, job, ...taskRow] = row;
    tasks.changed(seq);
    const task = taskOfRow(taskRow);
    const ref = { taskId, attempt: task.attempt, instanceId };
    const checkpoint = task.attempt > 1 ? kept.of(seq) : [];
    const claimed = { ref, agentId, task, job: JSON.parse(job) as Job };
    return [checkpoint.length > 0 ? { ...claimed, checkpoint } : claimed];
  };
  return claimTask;
}

function requeueWrite(db: SqliteDatabase, tasks: ChangedTasks, kept: Checkpoints): AttemptWrites['requeue'] {
  const keepAttempt =
    db.prepare<[number | null, string, string | null, string, number, string]>(KEEP_ATTEMPT);
  const update = db.prepare<[number, number, string | null, string, number, string], number>(REQUEUE).pluck();
  const requeueTask: AttemptWrites['requeue'] = ({
    ref,
    loss,
    reason = null,
    requeuedAtMs = null,
    checkpoint,
  }) => {
    keepAttempt.run(requeuedAtMs, loss, reason, ...fence(ref));
    const seq = update.get(
      loss === 'CRASH' ? 1 : 0,
      loss === 'LOSS' || loss === 'HOST_FAULT' ? 1 : 0,
      // Only a lost attempt keeps its instance: any other has reported, and a repeated report must not adopt it.
      loss === 'LOSS' ? ref.instanceId : null,
      ...fence(ref),
    );
    if (seq === undefined) return false;
    if (checkpoint !== undefined) kept.replace(seq, checkpoint);
    tasks.changed(seq);
    return true;
  };
  return requeueTask;
}

function endWrite(
  db: SqliteDatabase,
  tasks: ChangedTasks,
  nameFiles: NameFiles,
  kept: Checkpoints,
): AttemptWrites['end'] {
  const update = db
    .prepare<[string, string | null, string | null, number, string, number, string], number>(END)
    .pluck();
  const endTask: AttemptWrites['end'] = ({ ref, ending, endedAtMs, storedFiles = [] }) => {
    const { status, batchExecutionStatus, message, files } = ending;
    const taskSeq = update.get(status, batchExecutionStatus, message, endedAtMs, ...fence(ref));
    if (taskSeq === undefined) return false;
    if (ref.attempt > 1) kept.drop(taskSeq);
    tasks.taskEnded(taskSeq);
    nameFiles(taskSeq, files, storedFiles);
    return true;
  };
  return endTask;
}

type NameFiles = (taskSeq: number, files: TaskFiles, storedFiles: readonly NamedObject[]) => void;

/** Refers to the outputs and the log of an attempt, and names its stored files. */
function fileNaming(db: SqliteDatabase, names: NameTable): NameFiles {
  const refer = fileReferences(db);
  const insertStoredFile = db.prepare<[number, number, string, number]>(
    'INSERT INTO task_stored_file (task_seq, position, name, size_bytes) VALUES (?, ?, ?, ?)',
  );
  return (taskSeq, { outputFiles, log }, storedFiles) => {
    for (const [position, file] of outputFiles.entries())
      refer({ taskSeq, role: 'OUTPUT', position, path: file.path }, file);
    if (log) refer({ taskSeq, role: 'LOG', position: 0, path: null }, log);
    for (const [position, stored] of storedFiles.entries()) {
      names.put(stored);
      insertStoredFile.run(taskSeq, position, stored.name, stored.sizeBytes);
    }
  };
}

function fence({ taskId, attempt, instanceId }: AttemptRef): [string, number, string] {
  return [taskId, attempt, instanceId];
}
