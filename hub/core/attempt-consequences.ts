/**
 * Consequences of reports and losses for a task, given the hub's own record of it (contract 2.5: a result counts once; crashes
 * and losses with the agent are counted separately).
 */
import type { AttemptReport } from '@workbench-hub/shared/domain/attempt';
import type { NamedFileRef } from '@workbench-hub/shared/domain/job';
import type { Completion, Task } from './task.js';
import { NO_FILES } from './task.js';

export interface RetryLimits {
  /** Attempts of a task whose instance crashed, at which it fails. */
  readonly maxAttempts: number;
  /** Attempts of a task that were lost with their agent, or returned for a host fault, at which it fails. */
  readonly maxLosses: number;
}

/** Transition of the task that follows. */
export type Consequence =
  | { readonly kind: 'END'; readonly ending: Completion }
  | {
      readonly kind: 'REQUEUE';
      readonly loss: LossKind;
      readonly reason: string | null;
      /** Checkpoint that takes the place of the task's; absent when that stays. */
      readonly checkpoint?: readonly NamedFileRef[];
    };

/** CRASH: the instance program died. LOSS: its agent is lost. HOST_FAULT: a fault of the host, such as a full disk. RETURN:
 *  returned by its agent, which does not count against the task. */
export type LossKind = 'CRASH' | 'LOSS' | 'HOST_FAULT' | 'RETURN';

/** Consequence of the report of an active attempt. */
export function consequenceOf(report: AttemptReport, task: Task, limits: RetryLimits): Consequence {
  const files = { outputFiles: report.outputFiles, log: report.log };
  const isBatch = task.type === 'EXECUTE_BATCH_JOB';
  switch (report.outcome) {
    case 'OK':
      return end({ status: 'FINISHED', batchExecutionStatus: isBatch ? 'OK' : null, message: null, files });
    case 'ERROR':
      return end({
        status: 'FAILED',
        batchExecutionStatus: isBatch ? 'ERROR' : null,
        message: report.message ?? 'a script failed',
        files,
      });
    case 'FAILED':
      return end({
        status: 'FAILED',
        batchExecutionStatus: null,
        message: report.message ?? 'the job could not be run',
        files,
      });
    case 'INSTANCE_LOST': {
      return withFiles(consequenceOfLoss('CRASH', task, limits, report.message), files);
    }
    case 'AGENT_LOST':
      return withFiles(consequenceOfLoss('LOSS', task, limits, report.message), files);
    case 'RETURNED':
      if (report.hostFault !== true) return returned(report);
      return withFiles(consequenceOfLoss('HOST_FAULT', task, limits, report.message), {
        outputFiles: [],
        log: report.log,
      });
    case 'CANCELED':
      return returned(report);
  }
}

/** Kind of loss that a report states; undefined for none. */
export function lossOf({ outcome, hostFault }: AttemptReport): LossKind | undefined {
  if (outcome === 'INSTANCE_LOST') return 'CRASH';
  if (outcome === 'AGENT_LOST') return 'LOSS';
  if (outcome === 'RETURNED') return hostFault === true ? 'HOST_FAULT' : 'RETURN';
  return undefined;
}

/** Consequence of the loss of a running task's attempt. */
export function consequenceOfLoss(
  loss: LossKind,
  task: Task,
  { maxAttempts, maxLosses }: RetryLimits,
  reason: string | null,
): Consequence {
  const why = reason ? `: ${reason}` : '';
  if (loss === 'CRASH' && task.crashes + 1 >= maxAttempts) {
    const times = maxAttempts === 1 ? 'once' : `${maxAttempts} times`;
    return lost(`the workbench instance died ${times} while it ran this task (tasks.maxAttempts)${why}`);
  }
  if (loss === 'LOSS' && task.losses + 1 >= maxLosses) {
    const times = maxLosses === 1 ? 'once' : `${maxLosses} times`;
    return lost(`the agent was lost ${times} while it ran this task (tasks.maxLosses)${why}`);
  }
  if (loss === 'HOST_FAULT' && task.losses + 1 >= maxLosses) {
    const times = maxLosses === 1 ? 'once' : `${maxLosses} times`;
    const last = task.instance ? `, at last agent ${task.instance.agentId}` : '';
    return lost(
      `agents returned this task or were lost while running it ${times} (tasks.maxLosses)${last}${why}`,
    );
  }
  return { kind: 'REQUEUE', loss, reason };
}

/** Beginnings of the messages of tasks that were given up, as {@link consequenceOfLoss} writes them. */
const GIVEN_UP: readonly (readonly [RegExp, Exclude<LossKind, 'RETURN'>])[] = [
  [/^the workbench instance died (once|\d+ times) while it ran this task \(tasks\.maxAttempts\)/, 'CRASH'],
  [/^the agent was lost (once|\d+ times) while it ran this task \(tasks\.maxLosses\)/, 'LOSS'],
  [
    /^agents returned this task or were lost while running it (once|\d+ times) \(tasks\.maxLosses\)/,
    'HOST_FAULT',
  ],
];

/** Loss for which a task was given up; null for one that ended by a report of its job. */
export function lossThatEnded({
  status,
  batchExecutionStatus,
  message,
}: Pick<Task, 'status' | 'batchExecutionStatus' | 'message'>): Exclude<LossKind, 'RETURN'> | null {
  if (status !== 'FAILED' || batchExecutionStatus !== null || message === null) return null;
  return GIVEN_UP.find(([pattern]) => pattern.test(message))?.[1] ?? null;
}

function returned({ message, outcome, checkpoint }: AttemptReport): Consequence {
  if (outcome !== 'RETURNED' || checkpoint === undefined)
    return { kind: 'REQUEUE', loss: 'RETURN', reason: message };
  const files = checkpoint.length === 1 ? '1 file' : `${checkpoint.length} files`;
  const reason =
    checkpoint.length === 0
      ? message
      : `${message ?? 'returned'}; the next attempt gets its checkpoint (${files})`;
  return { kind: 'REQUEUE', loss: 'RETURN', reason, checkpoint };
}

/** The consequence, with these files if it ends the task. */
function withFiles(consequence: Consequence, files: Completion['files']): Consequence {
  return consequence.kind === 'END' ? end({ ...consequence.ending, files }) : consequence;
}

function end(ending: Completion): Consequence {
  return { kind: 'END', ending };
}

function lost(message: string): Consequence {
  return end({ status: 'FAILED', batchExecutionStatus: null, message, files: NO_FILES });
}
