import type { Classifier } from '@workbench-hub/shared/domain/classifier';
import { requirementOfKey } from '@workbench-hub/shared/domain/classifier';
import { priorityOfRank } from '@workbench-hub/shared/domain/priority';
import type { BatchExecutionStatus, TaskStatus, TaskType } from '@workbench-hub/shared/domain/task';
import type { Task } from '../../core/task.js';

/** A row of `task` without its job, beside the key of its requirement. */
export interface TaskRow {
  id: string;
  type: TaskType;
  status: TaskStatus;
  priority: number;
  requirement_key: string;
  requested_at: number;
  started_at: number | null;
  ended_at: number | null;
  attempt: number;
  crashes: number;
  losses: number;
  agent_id: string | null;
  instance_id: string | null;
  instance_version: string | null;
  instance_revision: string | null;
  batch_status: BatchExecutionStatus | null;
  time_limit_s: number | null;
  creator: string | null;
  name: string | null;
  classifiers: string;
  message: string | null;
  request_id: string | null;
  trace_context: string | null;
}

const REST_OF_COLUMNS = `
  type, status, priority, requested_at, started_at, ended_at, attempt, crashes, losses, agent_id, instance_id,
  instance_version, instance_revision, batch_status, time_limit_s, creator, name, classifiers, message, request_id,
  trace_context`;

/** What a query selects to get {@link TaskRow}s. */
export const TASK_COLUMNS = `task.id, requirement.key AS requirement_key, ${REST_OF_COLUMNS}`;

/** What a statement that changes tasks returns to get {@link TaskRow}s. */
export const RETURNED_TASK_COLUMNS = `
  id, (SELECT key FROM requirement WHERE id = task.requirement_id) AS requirement_key, ${REST_OF_COLUMNS}`;

export const TASK_TABLES = 'task JOIN requirement ON requirement.id = task.requirement_id';

export function taskOfRow(row: TaskRow): Task {
  return {
    id: row.id,
    type: row.type,
    name: row.name,
    creator: row.creator,
    classifiers: JSON.parse(row.classifiers) as Classifier[],
    requirement: requirementOfKey(row.requirement_key),
    priority: priorityOfRank(row.priority),
    status: row.status,
    requestedAtMs: row.requested_at,
    startedAtMs: row.started_at,
    endedAtMs: row.ended_at,
    timeLimitS: row.time_limit_s,
    attempt: row.attempt,
    crashes: row.crashes,
    losses: row.losses,
    instance:
      row.instance_id === null
        ? null
        : {
            id: row.instance_id,
            version: row.instance_version ?? '',
            revision: row.instance_revision ?? '',
            agentId: row.agent_id ?? '',
          },
    batchExecutionStatus: row.batch_status,
    message: row.message,
    requestId: row.request_id,
    traceContext: row.trace_context,
  };
}
