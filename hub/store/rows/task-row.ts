/** The row in which both stores read a task without its job. */
import type { Classifier } from '@workbench-hub/shared/domain/classifier';
import { requirementOfKey } from '@workbench-hub/shared/domain/classifier';
import { priorityOfRank } from '@workbench-hub/shared/domain/priority';
import type { Loan, Task } from '../../core/task.js';
import { type KeptField, TASK_COLUMNS } from './task-fields.js';

/** Values of {@link TASK_COLUMNS}; an older one may lack the last. A tuple is read in a third of the time of an object. */
export type TaskRow = readonly (string | number | null)[];

type ColumnName = (typeof TASK_COLUMNS)[number]['column'];

const placeOf = (name: ColumnName) => TASK_COLUMNS.findIndex(({ column }) => column === name);

const ID = placeOf('id');
const REQUIREMENT_KEY = placeOf('key');
const PRIORITY = placeOf('priority');
const CLASSIFIERS = placeOf('classifiers');
const LOAN = placeOf('loan');
const STUDY_ID = placeOf('study_id');
const STUDY_POINT = placeOf('study_point');
const AGENT_ID = placeOf('agent_id');
const INSTANCE_ID = placeOf('instance_id');
const INSTANCE_VERSION = placeOf('instance_version');
const INSTANCE_REVISION = placeOf('instance_revision');

/** Fields that the row has as they are, with their places. */
const KEPT: readonly (readonly [place: number, field: KeptField])[] = TASK_COLUMNS.flatMap((each, place) =>
  'field' in each ? [[place, each.field] as const] : [],
);

type Fields = Partial<Record<keyof Task, unknown>>;

/** All fields in one shape, of which a copy is filled faster than an object to which they are added. */
const NO_VALUES: Fields = {
  ...{ requirement: null, priority: null, classifiers: null, instance: null, loan: null, study: null },
  ...Object.fromEntries(KEPT.map(([, field]) => [field, null])),
};

export function taskIdOfRow(row: TaskRow): string {
  return textAt(row, ID);
}

export function taskOfRow(row: TaskRow): Task {
  const task: Fields = { ...NO_VALUES };
  task.requirement = requirementOfKey(textAt(row, REQUIREMENT_KEY));
  task.priority = priorityOfRank(Number(row[PRIORITY]));
  task.classifiers = JSON.parse(textAt(row, CLASSIFIERS)) as Classifier[];
  if (typeof row[LOAN] === 'string') task.loan = JSON.parse(row[LOAN]) as Loan;
  if (typeof row[STUDY_ID] === 'string') {
    task.study = { id: row[STUDY_ID], point: Number(row[STUDY_POINT]) };
  }
  if (row[INSTANCE_ID] !== null) {
    task.instance = {
      id: textAt(row, INSTANCE_ID),
      version: textAt(row, INSTANCE_VERSION),
      revision: textAt(row, INSTANCE_REVISION),
      agentId: textAt(row, AGENT_ID),
    };
  }
  for (const [place, field] of KEPT) task[field] = row[place] ?? null;
  return task as Task;
}

/** The text, or an empty one. */
function textAt(row: TaskRow, place: number): string {
  return String(row[place] ?? '');
}
