/** Terms of tasks: the enumerations of the interface (contract 1.6), as written on the wire. */

export const TASK_TYPES = ['SIMULATE_WORK', 'EXECUTE_BATCH_JOB'] as const;
export type TaskType = (typeof TASK_TYPES)[number];

export const TASK_STATUSES = ['WAITING', 'RUNNING', 'FINISHED', 'FAILED', 'CANCELED'] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];

/** The final statuses. */
export const ENDED_STATUSES = ['FINISHED', 'FAILED', 'CANCELED'] as const;

const ENDED: ReadonlySet<TaskStatus> = new Set(ENDED_STATUSES);

/** True for the three final statuses. */
export function hasEnded(status: TaskStatus): boolean {
  return ENDED.has(status);
}

export const BATCH_EXECUTION_STATUSES = ['OK', 'ERROR'] as const;
export type BatchExecutionStatus = (typeof BATCH_EXECUTION_STATUSES)[number];

/** Name of an attempt. `attempt` counts from 1. Two attempts may have the same number when a claim was lost in a power failure
 *  of the hub, but never on the same instance at a time: all three fields together are the fence. */
export interface AttemptRef {
  readonly taskId: string;
  readonly attempt: number;
  readonly instanceId: string;
}

/** Whether both names are those of one attempt. */
export function sameAttempt(a: AttemptRef, b: AttemptRef): boolean {
  return a.taskId === b.taskId && a.attempt === b.attempt && a.instanceId === b.instanceId;
}

/** Key of an attempt in maps. */
export function attemptKey({ taskId, attempt, instanceId }: AttemptRef): string {
  return `${taskId}/${attempt}/${instanceId}`;
}
