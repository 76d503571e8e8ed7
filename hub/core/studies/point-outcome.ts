/** Outcome of a point by its ended task. */
import { lossThatEnded } from '../attempt-consequences.js';
import type { Task } from '../task.js';
import { conditionFault, type ValueCondition } from './conditions.js';
import type { PointEnd } from './study.js';
import type { ReadValue } from './values/read-value.js';
import type { ValueRule } from './values/value-rules.js';

/** Fields of an ended task from which the outcome of its point follows. */
export type EndedTask = Pick<
  Task,
  'status' | 'batchExecutionStatus' | 'message' | 'requestedAtMs' | 'startedAtMs' | 'endedAtMs'
>;

/** The end of a point whose task has ended; `values` are those of the rules, empty unless the job has succeeded. */
export function endOf(
  task: EndedTask,
  {
    values: rules,
    success,
  }: { readonly values: readonly ValueRule[]; readonly success: readonly ValueCondition[] },
  values: readonly ReadValue[],
): PointEnd {
  const { startedAtMs, endedAtMs, requestedAtMs } = task;
  const common = { cause: null, source: null, startedAtMs, endedAtMs: endedAtMs ?? requestedAtMs };
  const without = { message: task.message, values: [], ...common };
  if (task.status === 'CANCELED') return { ...without, outcome: 'CANCELED' };
  const loss = lossThatEnded(task);
  if (loss !== null) return { ...without, outcome: 'INFRASTRUCTURE', cause: loss };
  if (task.status === 'FAILED') return { ...without, outcome: 'SOLVER_FAILED' };
  const faults = success.flatMap((condition) => conditionFault(condition, rules, values) ?? []);
  const outcome = faults.length > 0 ? 'RULE_FAILED' : 'FINISHED';
  const message = faults.length > 0 ? faults.join('; ') : null;
  return { outcome, message, values, ...common };
}

/** The end of a point that has the result of an earlier task. Conditions that its values do not meet count as for one of its own. */
export function reusedEndOf(
  task: Task,
  definition: Parameters<typeof endOf>[1],
  values: readonly ReadValue[],
  nowMs: number,
): PointEnd {
  const { outcome, ...end } = endOf(task, definition, values);
  return {
    ...end,
    outcome: outcome === 'FINISHED' ? 'REUSED' : outcome,
    source: task.id,
    startedAtMs: null,
    endedAtMs: nowMs,
  };
}
