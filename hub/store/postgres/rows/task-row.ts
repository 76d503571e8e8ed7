import type { Classifier } from '@workbench-hub/shared/domain/classifier';
import { requirementOfKey } from '@workbench-hub/shared/domain/classifier';
import { priorityOfRank } from '@workbench-hub/shared/domain/priority';
import type { BatchExecutionStatus, TaskStatus, TaskType } from '@workbench-hub/shared/domain/task';
import type { Task } from '../../../core/task.js';

/** A task without its job, with its requirement key: the values of {@link TASK_VALUES}. */
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

/** A row with a task as JSON, which is read faster than a row with a column for each value. */
export interface RowWithTask {
  readonly task: TaskRow;
}

/** Values of a {@link TaskRow}. `task` may be an alias for what an update returns. */
const TASK_VALUES = `
  task_request.id, requirement.key, task.type, task.status, task.priority, task_request.requested_at, task.started_at,
  task.ended_at, task.attempt, task.crashes, task.losses, task.agent_id, task.instance_id, task.instance_version,
  task.instance_revision, task.batch_status, task_request.time_limit_s, task_request.creator, task_request.name,
  task_request.classifiers, task.message, task_request.request_id, task_request.trace_context, task_request.ignored_fields`;

/** A task as one value. */
export const TASK_JSON = `json_build_array(${TASK_VALUES})`;

/** Tables beside `task` that {@link TASK_VALUES} reads. */
export const TASK_JOINS = `
  JOIN task_request ON task_request.task_seq = task.seq JOIN requirement ON requirement.id = task.requirement_id`;

/** Columns of `task` that an update returns for {@link TASK_VALUES}. */
export const RETURNED_TASK = `
  task.seq, task.type, task.status, task.priority, task.requirement_id, task.started_at, task.ended_at, task.attempt,
  task.crashes, task.losses, task.agent_id, task.instance_id, task.instance_version, task.instance_revision,
  task.batch_status, task.message`;

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
