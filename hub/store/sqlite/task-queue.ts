import { requirementKey } from '@workbench-hub/shared/domain/classifier';
import { type FileRef, filesOfJob, type Job } from '@workbench-hub/shared/domain/job';
import { priorityRank } from '@workbench-hub/shared/domain/priority';
import { nextState, type Transition } from '@workbench-hub/shared/domain/state-machine';
import type { AttemptRef, TaskStatus } from '@workbench-hub/shared/domain/task';
import type { WaitingTask } from '../../core/match-tasks.js';
import type { NamedObject } from '../../core/ports/storage.js';
import type {
  CanceledAttempt,
  Claim,
  ClaimedTask,
  EndedAttempt,
  HeldAttempt,
  RequeuedAttempt,
  TaskQueue,
} from '../../core/ports/task-store.js';
import { type NewTask, TASK_TRANSITIONS, type TaskFiles } from '../../core/task.js';
import type { SqliteDatabase } from './database.js';
import type { GroupCommit } from './group-commit.js';
import type { TaskLists } from './lists/task-lists.js';
import type { NameTable } from './named-objects.js';
import { type PendingCompletions, trackCompletions } from './pending-completions.js';
import { RETURNED_TASK_COLUMNS, TASK_COLUMNS, TASK_TABLES, type TaskRow, taskOfRow } from './task-row.js';

/** Requirements whose row is remembered; beyond, all are forgotten and looked up anew. */
const MAX_REMEMBERED_REQUIREMENTS = 10_000;

interface HeadRow {
  seq: number;
  id: string;
  priority: number;
}

type ClaimedRow = [seq: number, job: string, ...task: TaskRow];

/** Condition that selects the active attempt; binds task id, attempt and instance id. */
const ACTIVE_ATTEMPT = 'id = ? AND attempt = ? AND instance_id = ?';

/** SQL conditions and assignments of the task's transitions. */
const from = ({ from: statuses }: Transition<TaskStatus | '-'>) =>
  `status IN (${statuses.map((status) => `'${status}'`).join(', ')})`;
const to = (transition: Transition<TaskStatus | '-'>) => `status = '${nextState(transition)}'`;
const { claim, adopt, end, requeue, cancel, keepFiles } = TASK_TRANSITIONS;

export function sqliteTaskQueue(
  db: SqliteDatabase,
  commit: GroupCommit,
  lists: TaskLists,
  endings: PendingCompletions,
  names: NameTable,
): TaskQueue {
  /** A statement that changes one task and returns its `seq`. */
  const seqOf = <Values extends unknown[]>(sql: string) => db.prepare<Values, number>(sql).pluck();
  const insertRequirement = db.prepare('INSERT INTO requirement (key) VALUES (?) ON CONFLICT DO NOTHING');
  const selectRequirement = db.prepare<[string], { id: number }>('SELECT id FROM requirement WHERE key = ?');
  const insertTask = db.prepare(`
    INSERT INTO task (seq, id, type, status, priority, requirement_id, requested_at, time_limit_s, creator, name,
                      classifiers, job, request_id, trace_context)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const insertFile = db.prepare(
    `INSERT INTO task_file (task_seq, role, position, path, digest, size_bytes, encrypted)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  );
  const nameFile = (seq: number, role: string, position: number, path: string | null, file: FileRef) =>
    insertFile.run(seq, role, position, path, file.digest, file.sizeBytes, file.encrypted ? 1 : 0);
  const insertStoredFile = db.prepare(
    'INSERT INTO task_stored_file (task_seq, position, name, size_bytes) VALUES (?, ?, ?, ?)',
  );
  const selectGroups = db.prepare<[], { key: string }>(`
    SELECT key FROM requirement
    WHERE EXISTS (SELECT 1 FROM task WHERE requirement_id = requirement.id AND status = 'WAITING')`);
  const selectHeads = db.prepare<[string, number], HeadRow>(`
    SELECT seq, id, priority FROM task
    WHERE requirement_id = (SELECT id FROM requirement WHERE key = ?) AND status = 'WAITING'
    ORDER BY priority, seq LIMIT ?`);
  const selectPlace = db.prepare<[string], { priority: number; seq: number }>(
    'SELECT priority, seq FROM task WHERE id = ?',
  );
  const countAhead = db.prepare<[string, number, number], { ahead: number }>(`
    SELECT count(*) AS ahead FROM task
    WHERE requirement_id IN (SELECT id FROM requirement WHERE key IN (SELECT value FROM json_each(?)))
      AND status = 'WAITING' AND (priority, seq) < (?, ?)`);
  const claimTask = db
    .prepare<[number, string, string, string, string, string], ClaimedRow>(`
      UPDATE task SET ${to(claim)}, attempt = attempt + 1, started_at = ?, agent_id = ?, instance_id = ?,
                      instance_version = ?, instance_revision = ?
      WHERE id = ? AND ${from(claim)}
      RETURNING seq, job, ${RETURNED_TASK_COLUMNS}`)
    .raw();
  const adoptTask = seqOf<[Record<string, unknown>]>(`
    UPDATE task SET ${to(adopt)}, attempt = @attempt, started_at = @startedAtMs, agent_id = @agentId,
                    instance_id = @instanceId, instance_version = @version, instance_revision = @revision
    WHERE id = @taskId AND ${from(adopt)}
      AND (attempt = @attempt - 1 OR (attempt = @attempt AND instance_id = @instanceId AND agent_id = @agentId))
    RETURNING seq`);
  const selectInForce = db.prepare<[string, number, string, string]>(
    `SELECT 1 FROM task WHERE ${ACTIVE_ATTEMPT} AND agent_id = ? AND ${from(end)}`,
  );
  const endTask = seqOf<[string, string | null, string | null, number, string, number, string]>(`
    UPDATE task SET status = ?, batch_status = ?, message = ?, ended_at = ? WHERE ${ACTIVE_ATTEMPT} AND ${from(end)} RETURNING seq`);
  const releaseTask = seqOf<[number, number, string | null, string, number, string]>(`
    UPDATE task SET ${to(requeue)}, started_at = NULL, crashes = crashes + ?, losses = losses + ?, instance_id = ?
    WHERE ${ACTIVE_ATTEMPT} AND ${from(requeue)} RETURNING seq`);
  const cancelTask = seqOf<[number, string, string]>(`
    UPDATE task SET ${to(cancel)}, ended_at = ?
    WHERE id = ? AND status IN (SELECT value FROM json_each(?)) RETURNING seq`);
  const keepFilesOfTask = seqOf<[string, number, string]>(`
    UPDATE task SET ${to(keepFiles)}
    WHERE ${ACTIVE_ATTEMPT} AND ${from(keepFiles)} AND started_at IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM task_file WHERE task_seq = seq AND role IN ('OUTPUT', 'LOG'))
      AND NOT EXISTS (SELECT 1 FROM task_stored_file WHERE task_seq = seq)
    RETURNING seq`);
  const selectRunning = db
    .prepare<[string], TaskRow>(
      `SELECT ${TASK_COLUMNS} FROM ${TASK_TABLES} WHERE status = 'RUNNING' AND agent_id = ?`,
    )
    .raw();
  const selectAgents = db.prepare<[], { agent_id: string }>(
    `SELECT DISTINCT agent_id FROM task WHERE status = 'RUNNING'`,
  );

  const requirementIds = new Map<string, number>();
  commit.onRollback(() => requirementIds.clear());
  const requirementId = (key: string): number => {
    const known = requirementIds.get(key);
    if (known !== undefined) return known;
    if (requirementIds.size >= MAX_REMEMBERED_REQUIREMENTS) requirementIds.clear();
    insertRequirement.run(key);
    const id = (selectRequirement.get(key) as { id: number }).id;
    requirementIds.set(key, id);
    return id;
  };

  // Given out here and never again, not even after the latest task was removed: the lists know a task by it.
  let latestSeq = db.prepare<[], number>('SELECT coalesce(max(seq), 0) FROM task').pluck().get() ?? 0;
  lists.added(latestSeq);

  /** Tells the lists of the row that a statement has changed; true when there is one. */
  const noted = (seq: number | undefined): boolean => {
    if (seq !== undefined) lists.changed(seq);
    return seq !== undefined;
  };

  const insertOne = (task: NewTask): WaitingTask => {
    const seq = ++latestSeq;
    const key = requirementKey(task.requirement);
    const rank = priorityRank(task.priority);
    insertTask.run(
      seq,
      task.id,
      task.type,
      task.status,
      rank,
      requirementId(key),
      task.requestedAtMs,
      task.timeLimitS,
      task.creator,
      task.name,
      JSON.stringify(task.classifiers),
      JSON.stringify(task.job),
      task.requestId,
      task.traceContext,
    );
    for (const [position, file] of filesOfJob(task.job).entries())
      nameFile(seq, 'INPUT', position, null, file);
    lists.added(seq);
    return { taskId: task.id, requirementKey: key, priorityRank: rank, sequence: seq };
  };

  const claimOne = ({ taskId, instance, startedAtMs }: Claim): ClaimedTask[] => {
    const row = claimTask.get(
      startedAtMs,
      instance.agentId,
      instance.id,
      instance.version,
      instance.revision,
      taskId,
    );
    if (!row) return [];
    const [seq, job, ...ofTask] = row;
    lists.changed(seq);
    const task = taskOfRow(ofTask);
    return [
      {
        ref: { taskId, attempt: task.attempt, instanceId: instance.id },
        agentId: instance.agentId,
        task,
        job: JSON.parse(job) as Job,
      },
    ];
  };

  const adoptOne = ({ ref, instance, startedAtMs }: HeldAttempt): boolean =>
    noted(adoptTask.get({ ...ref, startedAtMs, ...instance })) ||
    selectInForce.get(...fence(ref), instance.agentId) !== undefined;

  const nameFiles = (
    seq: number,
    { outputFiles, log }: TaskFiles,
    storedFiles: readonly NamedObject[],
  ): void => {
    for (const [position, file] of outputFiles.entries()) nameFile(seq, 'OUTPUT', position, file.path, file);
    if (log) nameFile(seq, 'LOG', 0, null, log);
    for (const [position, stored] of storedFiles.entries()) {
      names.put(stored);
      insertStoredFile.run(seq, position, stored.name, stored.sizeBytes);
    }
  };

  const endOne = ({ ref, ending, endedAtMs, storedFiles }: EndedAttempt): boolean => {
    const seq = endTask.get(
      ending.status,
      ending.batchExecutionStatus,
      ending.message,
      endedAtMs,
      ...fence(ref),
    );
    if (seq === undefined) return false;
    lists.changed(seq);
    nameFiles(seq, ending.files, storedFiles ?? []);
    return true;
  };

  const keepFilesOfOne = ({ ref, files, storedFiles }: CanceledAttempt): boolean => {
    const seq = keepFilesOfTask.get(...fence(ref));
    if (seq !== undefined) nameFiles(seq, files, storedFiles);
    return seq !== undefined;
  };

  // An attempt whose end is known leaves no instance behind, so that its report, told twice, does not adopt it.
  const releaseOne = ({ ref, loss }: RequeuedAttempt): boolean =>
    noted(
      releaseTask.get(
        loss === 'CRASH' ? 1 : 0,
        loss === 'LOSS' || loss === 'HOST_FAULT' ? 1 : 0,
        loss === 'LOSS' ? ref.instanceId : null,
        ...fence(ref),
      ),
    );

  return {
    insert: async (tasks, waits) => {
      await commit.durable(() => tasks.map(insertOne), waits);
    },
    waitingGroups: async () => selectGroups.all().map(({ key }) => key),
    heads: async (groups) =>
      groups.flatMap(({ requirementKey: key, limit }) =>
        selectHeads.all(key, limit).map(
          (row): WaitingTask => ({
            taskId: row.id,
            requirementKey: key,
            priorityRank: row.priority,
            sequence: row.seq,
          }),
        ),
      ),
    countAhead: async (groups, of) => {
      const place =
        'taskId' in of
          ? selectPlace.get(of.taskId)
          : { priority: of.newWithPriorityRank, seq: Number.MAX_SAFE_INTEGER };
      if (!place) return 0;
      return countAhead.get(JSON.stringify(groups), place.priority, place.seq)?.ahead ?? 0;
    },
    claim: (claims) => commit.relaxed(() => claims.flatMap(claimOne)),
    adopt: (held) => commit.durable(() => held.map(adoptOne)),
    end: (ended) =>
      trackCompletions(
        endings,
        ended.map(({ ref }) => ref.taskId),
        commit.durable(() => ended.map(endOne)),
      ),
    keepFiles: (canceled) => commit.durable(() => canceled.map(keepFilesOfOne)),
    requeue: (released) => commit.durable(() => released.map(releaseOne)),
    cancel: (taskIds, statusesBefore, endedAtMs) => {
      const statuses = JSON.stringify(statusesBefore);
      const cancelOne = (id: string) => noted(cancelTask.get(endedAtMs, id, statuses));
      return trackCompletions(
        endings,
        taskIds,
        commit.freeing(() => taskIds.map(cancelOne)),
      );
    },
    runningOn: async (agentId) => selectRunning.all(agentId).map(taskOfRow),
    agentsWithRunning: async () => selectAgents.all().map(({ agent_id }) => agent_id),
  };
}

function fence({ taskId, attempt, instanceId }: AttemptRef): [string, number, string] {
  return [taskId, attempt, instanceId];
}
