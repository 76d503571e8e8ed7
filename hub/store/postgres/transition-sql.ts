/** Parts of statements that perform transitions of tasks. */
import { nextState, type Transition } from '@workbench-hub/shared/domain/state-machine';
import type { AttemptRef, TaskStatus } from '@workbench-hub/shared/domain/task';
import { firstOnly } from './batch-items.js';

/** Condition that a task has one of some statuses, in a form that fits no index: the server must begin with the tasks that are named, not
 *  with all of a status, of which there may be a million more than when it made the plan. */
export const isOneOf = (statuses: readonly (TaskStatus | '-')[]) =>
  `(task.status || '') IN (${statuses.map((status) => `'${status}'`).join(', ')})`;

/** Condition of a transition. */
export const from = ({ from: statuses }: Transition<TaskStatus | '-'>) => isOneOf(statuses);
/** Assignment of a transition. */
export const to = (transition: Transition<TaskStatus | '-'>) => `status = '${nextState(transition)}'`;

/** Joins the tasks that the input names to the updated table. Conditions follow. */
export const FROM_INPUT =
  'FROM input JOIN task_request ON task_request.id = input.task_id WHERE task.seq = task_request.task_seq';

/** Condition that selects the active attempt that the input names. */
export const IS_ACTIVE = 'task.attempt = input.attempt AND task.instance_id = input.instance_id';

/** Parameters that name attempts. */
export const REF_PARAMETERS = { taskIds: 'text[]', attempts: 'integer[]', instanceIds: 'text[]' } as const;

/** Values of these parameters. A repeated attempt names no task. */
export function refValues(refs: readonly AttemptRef[]) {
  const keys = firstOnly(refs, ({ taskId, attempt, instanceId }) =>
    JSON.stringify([taskId, attempt, instanceId]),
  );
  return {
    taskIds: refs.map(({ taskId }, at) => (keys[at] === null ? null : taskId)),
    attempts: refs.map(({ attempt }) => attempt),
    instanceIds: refs.map(({ instanceId }) => instanceId),
  };
}
