import type { Classifier } from '@workbench-hub/shared/domain/classifier';
import { requirementOfKey } from '@workbench-hub/shared/domain/classifier';
import { priorityOfRank } from '@workbench-hub/shared/domain/priority';
import type { BatchExecutionStatus, TaskStatus, TaskType } from '@workbench-hub/shared/domain/task';
import type { Task } from '../../../core/task.js';

/** A row of `task` without its job, with its requirement key: columns in the order of {@link TASK_COLUMNS}. A tuple, from a
 *  statement in `raw` mode, takes a third of the time of an object. */
export type TaskRow = [
  id: string,
  requirementKey: string,
  type: TaskType,
  status: TaskStatus,
  priority: number,
  requestedAtMs: number,
  startedAtMs: number | null,
  endedAtMs: number | null,
  attempt: number,
  crashes: number,
  losses: number,
  agentId: string | null,
  instanceId: string | null,
  instanceVersion: string | null,
  instanceRevision: string | null,
  batchStatus: BatchExecutionStatus | null,
  timeLimitS: number | null,
  creator: string | null,
  name: string | null,
  classifiers: string,
  message: string | null,
  requestId: string | null,
  traceContext: string | null,
  ignoredFields: string | null,
];

const REST_OF_COLUMNS = `
  type, status, priority, requested_at, started_at, ended_at, attempt, crashes, losses, agent_id, instance_id,
  instance_version, instance_revision, batch_status, time_limit_s, creator, name, classifiers, message, request_id,
  trace_context, ignored_fields`;

/** Selected columns of a {@link TaskRow}. */
export const TASK_COLUMNS = `task.id, requirement.key, ${REST_OF_COLUMNS}`;

/** The same columns in a RETURNING clause. */
export const RETURNED_TASK_COLUMNS = `
  id, (SELECT key FROM requirement WHERE id = task.requirement_id), ${REST_OF_COLUMNS}`;

export const TASK_TABLES = 'task JOIN requirement ON requirement.id = task.requirement_id';

export function taskOfRow([
  id,
  requirementKey,
  type,
  status,
  priority,
  requestedAtMs,
  startedAtMs,
  endedAtMs,
  attempt,
  crashes,
  losses,
  agentId,
  instanceId,
  instanceVersion,
  instanceRevision,
  batchExecutionStatus,
  timeLimitS,
  creator,
  name,
  classifiers,
  message,
  requestId,
  traceContext,
  ignoredFields,
]: TaskRow): Task {
  return {
    id,
    type,
    name,
    creator,
    classifiers: JSON.parse(classifiers) as Classifier[],
    requirement: requirementOfKey(requirementKey),
    priority: priorityOfRank(priority),
    status,
    requestedAtMs,
    startedAtMs,
    endedAtMs,
    timeLimitS,
    attempt,
    crashes,
    losses,
    instance:
      instanceId === null
        ? null
        : {
            id: instanceId,
            version: instanceVersion ?? '',
            revision: instanceRevision ?? '',
            agentId: agentId ?? '',
          },
    batchExecutionStatus,
    message,
    requestId,
    traceContext,
    ignoredFields,
  };
}
