import type { TaskRow } from '../../rows/task-row.js';

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
