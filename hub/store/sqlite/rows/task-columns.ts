/** Columns of a task in the order of the values of `TaskRow`. */
import { TASK_COLUMNS as COLUMNS } from '../../rows/task-fields.js';

/** Selected columns of a `TaskRow`. */
export const TASK_COLUMNS = COLUMNS.map(({ of, column }) =>
  of === 'requirement' ? `requirement.${column}` : `task.${column}`,
).join(', ');

/** The same columns in a RETURNING clause. */
export const RETURNED_TASK_COLUMNS = COLUMNS.map(({ of, column }) =>
  of === 'requirement' ? `(SELECT ${column} FROM requirement WHERE id = task.requirement_id)` : column,
).join(', ');

export const TASK_TABLES = 'task JOIN requirement ON requirement.id = task.requirement_id';

/** Selects the `seq` of the newest task; 0 when there is none. */
export const LATEST_SEQ = 'SELECT coalesce(max(seq), 0) FROM task';
