import { TASK_COLUMNS } from '../../rows/task-fields.js';
import type { TaskRow } from '../../rows/task-row.js';

/** A row with a task as JSON, which is read faster than a row with a column for each value. */
export interface RowWithTask {
  readonly task: TaskRow;
}

const TABLES = { task: 'task', request: 'task_request', requirement: 'requirement' } as const;

/** Values of a {@link TaskRow}. `task` may be an alias for what an update returns. */
const TASK_VALUES = TASK_COLUMNS.map(({ of, column }) => `${TABLES[of]}.${column}`).join(', ');

/** A task as one value. */
export const TASK_JSON = `json_build_array(${TASK_VALUES})`;

/** Tables beside `task` that {@link TASK_JSON} reads. */
export const TASK_JOINS = `
  JOIN task_request ON task_request.task_seq = task.seq JOIN requirement ON requirement.id = task.requirement_id`;

/** Columns of `task` that an update returns for {@link TASK_JSON}. */
export const RETURNED_TASK = [
  'seq',
  'requirement_id',
  ...TASK_COLUMNS.filter(({ of }) => of === 'task').map(({ column }) => column),
]
  .map((column) => `task.${column}`)
  .join(', ');
