/**
 * The columns of a task, once for both stores: how each is named, which table has it on PostgreSQL (on SQLite, `task` has all but
 * the requirement), and the field that it keeps. A field that is added here is inserted, and read, by both stores; its column
 * takes a migration in each. New ones come last: deliveries of webhooks keep rows in this order, and hubs of another version read
 * them.
 */
import type { NewTask, Task } from '../../core/task.js';

interface TaskColumn {
  readonly column: string;
  readonly of: 'task' | 'request' | 'requirement';
  /** Field that the column keeps as it is; other columns are converted in task-row.ts. */
  readonly field?: keyof Task;
  /** Type of a column of the request on PostgreSQL. */
  readonly type?: 'text' | 'bigint';
}

export const TASK_COLUMNS = [
  { column: 'id', of: 'request', field: 'id', type: 'text' },
  { column: 'key', of: 'requirement' },
  { column: 'type', of: 'task', field: 'type' },
  { column: 'status', of: 'task', field: 'status' },
  { column: 'priority', of: 'task' },
  { column: 'requested_at', of: 'request', field: 'requestedAtMs', type: 'bigint' },
  { column: 'started_at', of: 'task', field: 'startedAtMs' },
  { column: 'ended_at', of: 'task', field: 'endedAtMs' },
  { column: 'attempt', of: 'task', field: 'attempt' },
  { column: 'crashes', of: 'task', field: 'crashes' },
  { column: 'losses', of: 'task', field: 'losses' },
  { column: 'agent_id', of: 'task' },
  { column: 'instance_id', of: 'task' },
  { column: 'instance_version', of: 'task' },
  { column: 'instance_revision', of: 'task' },
  { column: 'batch_status', of: 'task', field: 'batchExecutionStatus' },
  { column: 'time_limit_s', of: 'request', field: 'timeLimitS', type: 'bigint' },
  { column: 'creator', of: 'request', field: 'creator', type: 'text' },
  { column: 'name', of: 'request', field: 'name', type: 'text' },
  { column: 'classifiers', of: 'request', type: 'text' },
  { column: 'message', of: 'task', field: 'message' },
  { column: 'request_id', of: 'request', field: 'requestId', type: 'text' },
  { column: 'trace_context', of: 'request', field: 'traceContext', type: 'text' },
  { column: 'ignored_fields', of: 'request', field: 'ignoredFields', type: 'text' },
  { column: 'note', of: 'request', field: 'note', type: 'text' },
  { column: 'loan', of: 'request', type: 'text' },
  { column: 'study_id', of: 'request', type: 'text' },
  { column: 'study_point', of: 'request', type: 'bigint' },
] as const satisfies readonly TaskColumn[];

type Column = (typeof TASK_COLUMNS)[number];
export type KeptField = Extract<Column, { readonly field: keyof Task }>['field'];

/** Fields of a task that no column keeps: there must be none. */
type ForgottenField = Exclude<
  keyof Task,
  KeptField | 'requirement' | 'priority' | 'classifiers' | 'instance' | 'loan' | 'study'
>;
const nothingIsForgotten: [ForgottenField] extends [never] ? true : ForgottenField = true;
void nothingIsForgotten;

type ConvertedColumn = 'classifiers' | 'loan' | 'study_id' | 'study_point';

/** Forms of fields that are no text and no number. */
const CONVERTED: Readonly<Record<ConvertedColumn, (task: NewTask) => string | number | null>> = {
  classifiers: ({ classifiers }) => JSON.stringify(classifiers),
  loan: ({ loan }) => loan && JSON.stringify(loan),
  study_id: ({ study }) => study?.id ?? null,
  study_point: ({ study }) => study?.point ?? null,
};

/** Columns of a new task's request, beside its requirement and its job; they never change. */
export const REQUEST_COLUMNS: readonly {
  readonly column: string;
  readonly type: 'text' | 'bigint';
  readonly valueIn: (task: NewTask) => string | number | null;
}[] = TASK_COLUMNS.filter((each) => each.of === 'request').map((each) => ({
  column: each.column,
  type: each.type,
  valueIn: 'field' in each ? (task) => task[each.field] : CONVERTED[each.column],
}));
