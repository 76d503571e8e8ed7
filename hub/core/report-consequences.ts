/**
 * What an agent reports is a claim. These functions say what it means for the task, given what the hub knows
 * (contract 2.5: a result counts once; runs that crash and runs that are lost with their agent count apart).
 */
import type { AttemptReport } from '@workbench-hub/shared/domain/attempt';
import type { Completion, Task } from './task.js';
import { NO_FILES } from './task.js';

export interface RetryLimits {
  /** Runs of a task in all, when its instance dies under it. */
  readonly maxAttempts: number;
  /** Runs of a task that may be lost with their agent, or given back for a fault of its host. */
  readonly maxLosses: number;
}

/** What has to happen to the task. */
export type Consequence =
  | { readonly kind: 'END'; readonly ending: Completion }
  | { readonly kind: 'RELEASE'; readonly loss: LossKind };

/** CRASH: the instance died. LOSS: its agent is gone. HOST_FAULT: the host could not do it, because its disk is full for
 *  instance. RETURN: it was never begun, which costs the task nothing. */
export type LossKind = 'CRASH' | 'LOSS' | 'HOST_FAULT' | 'RETURN';

/** What the report of an attempt that is in force means. */
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
    case 'RETURNED':
      if (report.hostFault !== true) return { kind: 'RELEASE', loss: 'RETURN' };
      return withFiles(consequenceOfLoss('HOST_FAULT', task, limits, report.message), {
        outputFiles: [],
        log: report.log,
      });
    case 'CANCELED':
      return { kind: 'RELEASE', loss: 'RETURN' };
  }
}

/** How the attempt came to nothing; undefined when it had its say. */
export function lossOf({ outcome, hostFault }: AttemptReport): LossKind | undefined {
  if (outcome === 'INSTANCE_LOST') return 'CRASH';
  if (outcome === 'RETURNED') return hostFault === true ? 'HOST_FAULT' : 'RETURN';
  return undefined;
}

/** What it means that the attempt of a running task is lost. */
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
    return lost(`agents gave this task back or were lost with it ${times} (tasks.maxLosses)${last}${why}`);
  }
  return { kind: 'RELEASE', loss };
}

/** If it ends the task, its files are these. */
function withFiles(consequence: Consequence, files: Completion['files']): Consequence {
  return consequence.kind === 'END' ? end({ ...consequence.ending, files }) : consequence;
}

function end(ending: Completion): Consequence {
  return { kind: 'END', ending };
}

function lost(message: string): Consequence {
  return end({ status: 'FAILED', batchExecutionStatus: null, message, files: NO_FILES });
}
