/** Parts of statements that perform transitions of tasks. */
import { nextState, type Transition } from '@workbench-hub/shared/domain/state-machine';
import type { AttemptRef, TaskStatus } from '@workbench-hub/shared/domain/task';
import type { SchedulerFence } from '../../../core/ports/task-queue.js';
import { firstOnly } from '../lanes/batch-items.js';

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

/** Parameters of what the scheduler alone may do. */
export const FENCE_PARAMETERS = { terms: 'bigint[]', awayAgentIds: 'text[]' } as const;

/** Values of these parameters; null for what any hub may do. */
export function fenceValues(items: readonly { readonly fence?: SchedulerFence | undefined }[]) {
  return {
    terms: items.map(({ fence }) => fence?.term ?? null),
    awayAgentIds: items.map(({ fence }) => fence?.awayAgentId ?? null),
  };
}

/**
 * Common table expressions with the term of the scheduler, if an item is of one, and with connected agents among those that must not
 * be. Their rows are locked until the commit: the next term begins, and an agent joins, after it (decision 0070).
 */
export const FENCES = `
  scheduler AS (
    SELECT scheduler_term.term FROM held, scheduler_term
    WHERE EXISTS (SELECT FROM unnest(:terms) AS asked WHERE asked IS NOT NULL) FOR KEY SHARE OF scheduler_term),
  known AS (SELECT agent.id, agent.hub_id FROM held, agent WHERE agent.id = ANY (:awayAgentIds) FOR SHARE OF agent)`;

/** Whether the scheduler may still do what `given` says. Reads the columns `term` and `away_agent_id`. */
export const IS_IN_FORCE = `(given.term IS NULL OR given.term = (SELECT term FROM scheduler))
  AND NOT EXISTS (SELECT FROM known WHERE known.id = given.away_agent_id AND known.hub_id IS NOT NULL)`;
