/** Report of a loan to its home, by what has become of the task here. */
import type { AttemptOutcome, AttemptReport } from '@workbench-hub/shared/domain/attempt';
import type { NamedFileRef } from '@workbench-hub/shared/domain/job';
import type { LossKind } from '../../core/attempt-consequences.js';
import { fromLoanFiles } from '../../core/loan-files.js';
import type { TaskArchive } from '../../core/ports/task-archive.js';
import type { Loan, Task } from '../../core/task.js';

type Fate = Pick<AttemptReport, 'outcome' | 'message' | 'hostFault'>;

/** Report of the task, which has ended, or waits since its attempt was lost. Rejects as the store does. */
export async function loanReport(
  task: Task & { readonly loan: Loan },
  archive: Pick<TaskArchive, 'filesOf' | 'formerAttempts'>,
): Promise<AttemptReport> {
  const fate = await fateOf(task, archive);
  const { outputFiles: all, log } = await archive.filesOf(task.id);
  const { outputFiles, storedFiles } = fromLoanFiles(all);
  return {
    ...task.loan.ref,
    ...fate,
    outputFiles: outputFiles.map(plain),
    log: log && plain(log),
    ...(storedFiles.length === 0 ? {} : { storedFiles: storedFiles.map(plain) }),
  };
}

async function fateOf(task: Task, archive: Pick<TaskArchive, 'formerAttempts'>): Promise<Fate> {
  const { status, batchExecutionStatus, message } = task;
  if (status === 'FINISHED') return { outcome: 'OK', message };
  if (status === 'FAILED') return { outcome: batchExecutionStatus === 'ERROR' ? 'ERROR' : 'FAILED', message };
  const last = (await archive.formerAttempts(task.id)).at(-1);
  if (last && last.attempt === task.attempt) return fateOfLoss(last.loss, last.reason);
  return { outcome: 'RETURNED', message: 'the hub that lent the instance has taken it back' };
}

const OUTCOMES: Readonly<Record<LossKind, AttemptOutcome>> = {
  CRASH: 'INSTANCE_LOST',
  LOSS: 'AGENT_LOST',
  HOST_FAULT: 'RETURNED',
  RETURN: 'RETURNED',
};

function fateOfLoss(loss: LossKind, reason: string | null): Fate {
  const fate = { outcome: OUTCOMES[loss], message: reason };
  return loss === 'HOST_FAULT' ? { ...fate, hostFault: true } : fate;
}

/** Without the stored form, which is a matter of each hub. */
function plain<File extends NamedFileRef | { readonly digest: string; readonly sizeBytes: number }>(
  file: File,
): File {
  const { encrypted: _, ...rest } = file as File & { readonly encrypted?: true };
  return rest as unknown as File;
}
