/** A task and its state machine. */
import type { Classifier, Requirement } from '@workbench-hub/shared/domain/classifier';
import type { FileRef, Job, NamedFileRef } from '@workbench-hub/shared/domain/job';
import type { Priority } from '@workbench-hub/shared/domain/priority';
import type { StateMachine } from '@workbench-hub/shared/domain/state-machine';
import type {
  AttemptRef,
  BatchExecutionStatus,
  TaskStatus,
  TaskType,
} from '@workbench-hub/shared/domain/task';

/** Instance of the latest attempt of a task. */
export interface ExecutingInstance {
  readonly id: string;
  readonly version: string;
  readonly revision: string;
  readonly agentId: string;
}

/** Hub that a task was handed in to, and its creator there. */
export interface TaskOrigin {
  /** Address, or identity of a hub without a public one. */
  readonly hub: string;
  readonly user: string | null;
}

/** Name of a hub for others. */
export function nameOf({
  id,
  baseUrl,
}: {
  readonly id: string;
  readonly baseUrl: string | null;
}): TaskOrigin['hub'] {
  return baseUrl ?? id;
}

/** Loan: an attempt of another hub's task that this hub runs as a task of its own. */
export interface Loan {
  /** Name of the upstream in the configuration. */
  readonly upstream: string;
  /** The attempt at the upstream, with the id that the lent instance has there. */
  readonly ref: AttemptRef;
  /** Proof of its assignment; null when the upstream gave none. */
  readonly proof: string | null;
  readonly origin: TaskOrigin;
}

/** Point of a study, whose task it is. */
export interface PointRef {
  /** Id of the study, which may be deleted meanwhile. */
  readonly id: string;
  /** Number of the point. */
  readonly point: number;
}

/** A task without its job and its results. Timestamps are milliseconds since 1970 by the hub's clock. */
export interface Task {
  readonly id: string;
  readonly type: TaskType;
  readonly name: string | null;
  /** Text of the creator about the task. */
  readonly note: string | null;
  readonly creator: string | null;
  readonly classifiers: readonly Classifier[];
  readonly requirement: Requirement;
  readonly priority: Priority;
  readonly status: TaskStatus;
  readonly requestedAtMs: number;
  readonly startedAtMs: number | null;
  readonly endedAtMs: number | null;
  readonly timeLimitS: number | null;
  /** Id of the request that created it; null for tasks from before ids were kept. */
  readonly requestId: string | null;
  /** Trace context of that request; null when its trace is not kept. */
  readonly traceContext: string | null;
  /** Fields of that request that the hub did not know and ignored, in words; null when there were none. */
  readonly ignoredFields: string | null;
  /** Null for a task of this hub. */
  readonly loan: Loan | null;
  /** Null for a task that no study created. */
  readonly study: PointRef | null;
  /** Number of the latest attempt; 0 before the first. */
  readonly attempt: number;
  /** Attempts whose instance crashed. */
  readonly crashes: number;
  /** Attempts lost with their agent, or returned for a host fault. */
  readonly losses: number;
  /** Instance of the latest attempt; null before the first, and when the latest is closed without a result. */
  readonly instance: ExecutingInstance | null;
  readonly batchExecutionStatus: BatchExecutionStatus | null;
  /** Reason why the task failed. */
  readonly message: string | null;
}

/** Address that is told of the end of a task. */
export interface NotifyAddress {
  readonly url: string;
  /** Origin of the address. */
  readonly receiver: string;
}

export interface NewTask extends Task {
  readonly job: Job;
  readonly notify?: NotifyAddress | null;
}

/** Files of an ended task. */
export interface TaskFiles {
  readonly outputFiles: readonly NamedFileRef[];
  readonly log: FileRef | null;
  /** Files that it left in the output storage; listed also after their expiry. */
  readonly storedFiles?: readonly NamedSize[];
}

export interface NamedSize {
  readonly name: string;
  readonly sizeBytes: number;
}

/** End of a task; written once, in one transaction. */
export interface Completion {
  readonly status: (typeof TASK_TRANSITIONS)['end']['to'][number];
  readonly batchExecutionStatus: BatchExecutionStatus | null;
  readonly message: string | null;
  readonly files: TaskFiles;
}

export const NO_FILES: TaskFiles = { outputFiles: [], log: null };

/** State machine of a task. The store derives its SQL statements from it. */
export const TASK_TRANSITIONS = {
  create: { from: ['-'], to: ['WAITING'], by: 'client' },
  claim: { from: ['WAITING'], to: ['RUNNING'], by: 'scheduler, for an idle instance that fits' },
  adopt: { from: ['WAITING'], to: ['RUNNING'], by: 'agent that still holds the attempt' },
  end: {
    from: ['RUNNING'],
    to: ['FINISHED', 'FAILED'],
    by: 'report of the active attempt, or its last permitted loss',
  },
  requeue: { from: ['RUNNING'], to: ['WAITING'], by: 'loss or return of the active attempt' },
  cancel: { from: ['WAITING'], to: ['CANCELED'], by: 'client' },
  cancelByForce: { from: ['WAITING', 'RUNNING'], to: ['CANCELED'], by: 'client, with force=true' },
  keepFiles: {
    from: ['CANCELED'],
    to: ['CANCELED'],
    by: 'report of the attempt that was canceled by force',
  },
  remove: {
    from: ['FINISHED', 'FAILED', 'CANCELED'],
    to: ['-'],
    by: 'client, or the end of tasks.keepEndedFor',
  },
} as const satisfies StateMachine<TaskStatus | '-'>;

/** Active attempt of a running task; otherwise undefined. */
export function attemptOf(task: Task): AttemptRef | undefined {
  if (task.status !== 'RUNNING' || !task.instance) return undefined;
  return { taskId: task.id, attempt: task.attempt, instanceId: task.instance.id };
}
