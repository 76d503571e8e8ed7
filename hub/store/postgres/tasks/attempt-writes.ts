/** Writes of the other transitions of tasks, any number of tasks at once. */
import type { NamedFileRef } from '@workbench-hub/shared/domain/job';
import type { AttemptRef, TaskStatus } from '@workbench-hub/shared/domain/task';
import type { NamedObject } from '../../../core/ports/named-objects.js';
import type {
  AdoptedAttempt,
  CanceledAttempt,
  EndedAttempt,
  HeldAttempt,
  RequeuedAttempt,
} from '../../../core/ports/task-queue.js';
import { TASK_TRANSITIONS, type TaskFiles } from '../../../core/task.js';
import { byCall, firstOnly, type Items, tookPlace } from '../lanes/batch-items.js';
import { type LaneWrite, laneStatement } from '../lanes/lane-statements.js';
import {
  addFiles,
  dropCheckpoints,
  FILE_PARAMETERS,
  type FileReference,
  fileValues,
  replaceCheckpoints,
} from '../objects/file-references.js';
import { addObjects, OBJECT_PARAMETERS, objectValues } from '../objects/stored-objects.js';
import { RETURNED_TASK } from '../rows/task-columns.js';
import {
  FENCE_PARAMETERS,
  FENCES,
  FROM_INPUT,
  fenceValues,
  from,
  IS_ACTIVE,
  IS_IN_FORCE,
  REF_PARAMETERS,
  refValues,
  to,
} from './transition-sql.js';
import {
  DELIVERY_PARAMETERS,
  MADE,
  type MadeDeliveries,
  makeDeliveries,
  type WebhookOutbox,
} from './webhook-outbox.js';

const { adopt, end, requeue, cancel, keepFiles } = TASK_TRANSITIONS;

const END = laneStatement({
  parameters: {
    ...REF_PARAMETERS,
    statuses: 'text[]',
    batchStatuses: 'text[]',
    messages: 'text[]',
    endedAts: 'bigint[]',
    ...FENCE_PARAMETERS,
    ...FILE_PARAMETERS,
    ...OBJECT_PARAMETERS,
    ...DELIVERY_PARAMETERS,
  },
  parts: `${FENCES},
    input AS (
      SELECT given.* FROM held,
        unnest(:taskIds, :attempts, :instanceIds, :statuses, :batchStatuses, :messages, :endedAts, :terms, :awayAgentIds)
        WITH ORDINALITY
        AS given (task_id, attempt, instance_id, status, batch_status, message, ended_at, term, away_agent_id, at)
      WHERE ${IS_IN_FORCE}),
    ended AS (
      UPDATE task SET status = input.status, batch_status = input.batch_status, message = input.message,
        ended_at = input.ended_at
      ${FROM_INPUT} AND ${IS_ACTIVE} AND ${from(end)}
      RETURNING input.at, ${RETURNED_TASK}),
    files AS (${addFiles('ended')}),
    dropped AS (${dropCheckpoints('ended')} AND ended.attempt > 1),
    ${addObjects('ended')},
    ${makeDeliveries('ended')}`,
  changes: 'SELECT to_json(seq) FROM ended',
  outcome: `SELECT json_build_object('done', (SELECT json_agg(at) FROM ended), 'made', ${MADE})`,
});

const CANCEL = laneStatement({
  parameters: { taskIds: 'text[]', statuses: 'text[]', endedAts: 'bigint[]', ...DELIVERY_PARAMETERS },
  parts: `
    input AS (
      SELECT given.* FROM held, unnest(:taskIds, :statuses, :endedAts)
        WITH ORDINALITY AS given (task_id, statuses, ended_at, at)),
    ended AS (
      UPDATE task SET ${to(cancel)}, ended_at = input.ended_at
      ${FROM_INPUT} AND task.status = ANY (string_to_array(input.statuses, ','))
      RETURNING input.at, ${RETURNED_TASK}),
    dropped AS (${dropCheckpoints('ended')}),
    ${makeDeliveries('ended')}`,
  changes: 'SELECT to_json(seq) FROM ended',
  outcome: `SELECT json_build_object('done', (SELECT json_agg(at) FROM ended), 'made', ${MADE})`,
});

/** The row of the task is about to lose what the former attempt keeps. Only a lost attempt keeps its instance: any other has
 *  reported, and a repeated report must not adopt it. */
const REQUEUE = laneStatement({
  parameters: {
    ...REF_PARAMETERS,
    ...FENCE_PARAMETERS,
    losses: 'text[]',
    reasons: 'text[]',
    requeuedAts: 'bigint[]',
    checkpointFiles: 'integer[]',
    ...FILE_PARAMETERS,
  },
  parts: `${FENCES},
    input AS (
      SELECT given.* FROM held,
        unnest(:taskIds, :attempts, :instanceIds, :losses, :reasons, :requeuedAts, :checkpointFiles, :terms, :awayAgentIds)
        WITH ORDINALITY
        AS given (task_id, attempt, instance_id, loss, reason, requeued_at, checkpoint_files, term, away_agent_id, at)
      WHERE ${IS_IN_FORCE}),
    requeued AS (
      UPDATE task SET ${to(requeue)}, started_at = NULL, crashes = task.crashes + (input.loss = 'CRASH')::integer,
        losses = task.losses + (input.loss IN ('LOSS', 'HOST_FAULT'))::integer,
        instance_id = CASE WHEN input.loss = 'LOSS' THEN task.instance_id END
      FROM input JOIN task_request ON task_request.id = input.task_id JOIN task AS former ON former.seq = task_request.task_seq
      WHERE task.seq = former.seq AND ${IS_ACTIVE} AND ${from(requeue)}
      RETURNING input.at, task.seq, task.attempt, task.agent_id, former.instance_id, task.instance_version,
        task.instance_revision, former.started_at, input.requeued_at, input.loss, input.reason,
        input.checkpoint_files),
    ${replaceCheckpoints('requeued')},
    kept AS (
      INSERT INTO former_attempt (task_seq, attempt, agent_id, instance_id, instance_version, instance_revision, started_at,
                                  ended_at, loss, reason)
      SELECT seq, attempt, coalesce(agent_id, ''), instance_id, coalesce(instance_version, ''),
        coalesce(instance_revision, ''), started_at, requeued_at, loss, reason FROM requeued
      ON CONFLICT (task_seq, attempt) DO UPDATE SET agent_id = excluded.agent_id, instance_id = excluded.instance_id,
        instance_version = excluded.instance_version, instance_revision = excluded.instance_revision,
        started_at = excluded.started_at, ended_at = excluded.ended_at, loss = excluded.loss, reason = excluded.reason)`,
  changes: 'SELECT to_json(seq) FROM requeued',
  outcome: 'SELECT json_agg(at) FROM requeued',
});

/** The rows of agents are locked until the commit: a later join comes after it. */
const ADOPT = laneStatement({
  parameters: {
    ...REF_PARAMETERS,
    agentIds: 'text[]',
    versions: 'text[]',
    revisions: 'text[]',
    startedAts: 'bigint[]',
    areProven: 'boolean[]',
    epochs: 'bigint[]',
  },
  parts: `
    joined AS (
      SELECT agent.id, agent.epoch FROM held, agent
      WHERE agent.id IN (SELECT asked.id FROM unnest(:agentIds, :epochs) AS asked (id, epoch) WHERE asked.epoch IS NOT NULL)
      FOR SHARE OF agent),
    input AS (
      SELECT given.* FROM held,
        unnest(:taskIds, :attempts, :instanceIds, :agentIds, :versions, :revisions, :startedAts, :areProven, :epochs)
        WITH ORDINALITY
        AS given (task_id, attempt, instance_id, agent_id, version, revision, started_at, is_proven, epoch, at)
      WHERE NOT EXISTS (SELECT FROM joined WHERE joined.id = given.agent_id AND joined.epoch > given.epoch)),
    active AS (
      SELECT input.at FROM input JOIN task_request ON task_request.id = input.task_id JOIN task ON task.seq = task_request.task_seq
      WHERE ${IS_ACTIVE} AND task.agent_id = input.agent_id AND ${from(end)}),
    adopted AS (
      UPDATE task SET ${to(adopt)}, attempt = input.attempt, started_at = input.started_at, agent_id = input.agent_id,
        instance_id = input.instance_id, instance_version = input.version, instance_revision = input.revision
      ${FROM_INPUT} AND ${from(adopt)}
        AND ((input.is_proven AND task.attempt = input.attempt - 1) OR (${IS_ACTIVE} AND task.agent_id = input.agent_id))
      RETURNING input.at, task.seq, task.attempt, task.requirement_id),
    forgotten AS (
      DELETE FROM former_attempt USING adopted
      WHERE former_attempt.task_seq = adopted.seq AND former_attempt.attempt = adopted.attempt)`,
  changes: 'SELECT to_json(seq) FROM adopted',
  outcome: `SELECT json_agg(json_build_array(at, requirement_id)) FROM (
    SELECT at, requirement_id FROM adopted UNION ALL SELECT at, NULL FROM active) AS each`,
});

/** Only once: not when some files of the attempt are there. */
const KEEP_FILES = laneStatement({
  parameters: { ...REF_PARAMETERS, ...FILE_PARAMETERS, ...OBJECT_PARAMETERS },
  parts: `
    input AS (
      SELECT given.* FROM held, unnest(:taskIds, :attempts, :instanceIds)
        WITH ORDINALITY AS given (task_id, attempt, instance_id, at)),
    kept AS (
      UPDATE task SET ${to(keepFiles)}
      ${FROM_INPUT} AND ${IS_ACTIVE} AND ${from(keepFiles)} AND task.started_at IS NOT NULL
        AND NOT EXISTS (SELECT FROM task_file WHERE task_file.task_seq = task.seq AND role IN ('OUTPUT', 'LOG'))
        AND NOT EXISTS (SELECT FROM task_stored_file WHERE task_stored_file.task_seq = task.seq)
      RETURNING input.at, task.seq),
    files AS (${addFiles('kept')}),
    ${addObjects('kept')}`,
  changes: 'SELECT to_json(seq) FROM kept',
  outcome: 'SELECT json_agg(at) FROM kept',
});

interface EndOutcome {
  readonly done: unknown;
  readonly made: MadeDeliveries | null;
}

/** Results of statements that end tasks. The deliveries are told once for the batch. */
function ended(calls: readonly Items<unknown>[], outcome: unknown, outbox: WebhookOutbox): boolean[][] {
  const { done, made } = outcome as EndOutcome;
  outbox.made(made ?? []);
  return tookPlace(calls, done);
}

const keysOf = (items: Items<{ readonly ref: AttemptRef }>) => items.map(({ ref }) => ref.taskId);

export interface AttemptWrites {
  readonly end: LaneWrite<Items<EndedAttempt>, boolean[]>;
  readonly cancel: LaneWrite<Items<Cancel>, boolean[]>;
}

/** A task to be canceled from one of some statuses. */
export interface Cancel {
  readonly taskId: string;
  readonly from: readonly TaskStatus[];
  readonly endedAtMs: number;
}

/** The writes that make deliveries. */
export function attemptWrites(outbox: WebhookOutbox): AttemptWrites {
  return {
    end: {
      statement: END,
      isDurable: true,
      keys: keysOf,
      values: (calls) => {
        const items = calls.flat();
        return {
          ...refValues(items.map(({ ref }) => ref)),
          ...fenceValues(items),
          statuses: items.map(({ ending }) => ending.status),
          batchStatuses: items.map(({ ending }) => ending.batchExecutionStatus),
          messages: items.map(({ ending }) => ending.message),
          endedAts: items.map(({ endedAtMs }) => endedAtMs),
          ...filesOf(items.map(({ ending, storedFiles = [] }) => ({ files: ending.files, storedFiles }))),
          ...outbox.values(),
        };
      },
      results: (calls, outcome) => ended(calls, outcome, outbox),
    },
    cancel: {
      statement: CANCEL,
      isDurable: true,
      keys: (items) => items.map(({ taskId }) => taskId),
      values: (calls) => {
        const items = calls.flat();
        return {
          taskIds: firstOnly(items, ({ taskId }) => taskId),
          statuses: items.map(({ from: statuses }) => statuses.join(',')),
          endedAts: items.map(({ endedAtMs }) => endedAtMs),
          ...outbox.values(),
        };
      },
      results: (calls, outcome) => ended(calls, outcome, outbox),
    },
  };
}

export const REQUEUE_WRITE: LaneWrite<Items<RequeuedAttempt>, boolean[]> = {
  statement: REQUEUE,
  isDurable: true,
  keys: keysOf,
  values: (calls) => {
    const items = calls.flat();
    return {
      ...refValues(items.map(({ ref }) => ref)),
      ...fenceValues(items),
      losses: items.map(({ loss }) => loss),
      reasons: items.map(({ reason = null }) => reason),
      checkpointFiles: items.map(({ checkpoint }) => checkpoint?.length ?? null),
      ...fileValues(items.map(({ checkpoint = [] }) => checkpointReferences(checkpoint))),
      requeuedAts: items.map(({ requeuedAtMs = null }) => requeuedAtMs),
    };
  },
  results: tookPlace,
};

/** No two attempts of a call may be of the same task. */
export const ADOPT_WRITE: LaneWrite<Items<HeldAttempt>, (AdoptedAttempt | null)[]> = {
  statement: ADOPT,
  isDurable: true,
  keys: keysOf,
  values: (calls) => {
    const items = calls.flat();
    return {
      ...refValues(items.map(({ ref }) => ref)),
      agentIds: items.map(({ instance }) => instance.agentId),
      versions: items.map(({ instance }) => instance.version),
      revisions: items.map(({ instance }) => instance.revision),
      startedAts: items.map(({ startedAtMs }) => startedAtMs),
      areProven: items.map(({ isProven }) => isProven),
      epochs: items.map(({ epoch = null }) => epoch),
    };
  },
  results: (calls, outcome) => {
    const active = new Map((outcome ?? []) as [at: number, dequeuedFrom: number | null][]);
    return byCall(calls, (_, number) => {
      const dequeuedFrom = active.get(number);
      return dequeuedFrom === undefined ? null : { dequeuedFrom };
    });
  },
};

export const KEEP_FILES_WRITE: LaneWrite<Items<CanceledAttempt>, boolean[]> = {
  statement: KEEP_FILES,
  isDurable: true,
  keys: keysOf,
  values: (calls) => {
    const items = calls.flat();
    return { ...refValues(items.map(({ ref }) => ref)), ...filesOf(items) };
  },
  results: tookPlace,
};

interface KeptFiles {
  readonly files: TaskFiles;
  readonly storedFiles: readonly NamedObject[];
}

function filesOf(items: readonly KeptFiles[]) {
  return {
    ...fileValues(items.map(({ files }) => referencesOf(files))),
    ...objectValues(items.map(({ storedFiles }) => storedFiles)),
  };
}

function checkpointReferences(files: readonly NamedFileRef[]): FileReference[] {
  return files.map((file, position) => ({ role: 'CHECKPOINT', position, path: file.path, file }));
}

function referencesOf({ outputFiles, log }: TaskFiles): FileReference[] {
  const outputs = outputFiles.map(
    (file, position): FileReference => ({ role: 'OUTPUT', position, path: file.path, file }),
  );
  return log ? [...outputs, { role: 'LOG', position: 0, path: null, file: log }] : outputs;
}
