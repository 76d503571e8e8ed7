/** Columns of a task in the order of the values of `TaskRow`. */

const REST_OF_COLUMNS = `
  type, status, priority, requested_at, started_at, ended_at, attempt, crashes, losses, agent_id, instance_id,
  instance_version, instance_revision, batch_status, time_limit_s, creator, name, classifiers, message, request_id,
  trace_context, ignored_fields`;

/** Selected columns of a `TaskRow`. */
export const TASK_COLUMNS = `task.id, requirement.key, ${REST_OF_COLUMNS}`;

/** The same columns in a RETURNING clause. */
export const RETURNED_TASK_COLUMNS = `
  id, (SELECT key FROM requirement WHERE id = task.requirement_id), ${REST_OF_COLUMNS}`;

export const TASK_TABLES = 'task JOIN requirement ON requirement.id = task.requirement_id';
