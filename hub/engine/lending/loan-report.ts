/** Report of a loan to its home, by what has become of the task here. */
import type { AttemptOutcome, AttemptReport } from '@workbench-hub/shared/domain/attempt';
import type { NamedFileRef } from '@workbench-hub/shared/domain/job';
import type { LossKind } from '../../core/attempt-consequences.js';
import { fromLoanFiles } from '../../core/loan-files.js';
import type { TaskArchive } from '../../core/ports/task-archive.js';
import type { Completion, Loan, Task, TaskFiles } from '../../core/task.js';

type Fate = Pick<AttemptReport, 'outcome' | 'message' | 'hostFault'>;

/** Report of the task, which has ended, or waits since its attempt was lost. Rejects as the store does. */
export async function loanReport(
  task: Task & { readonly loan: Loan },
  archive: Pick<TaskArchive, 'filesOf' | 'formerAttempts'>,
): Promise<AttemptReport> {
  const fate = fateOfEnd(task) ?? (await fateOfOther(task, archive));
  return reportOf(task.loan, fate, await archive.filesOf(task.id));
}

/** Report of a task that has just ended with its attempt. */
export function reportOfEnd(loan: Loan, ending: Completion): AttemptReport {
  const fate = fateOfEnd(ending) ?? RETURNED;
  return reportOf(loan, fate, ending.files);
}

function reportOf({ ref }: Loan, fate: Fate, files: TaskFiles): AttemptReport {
  const { outputFiles, storedFiles } = fromLoanFiles(files.outputFiles);
  return {
    ...ref,
    ...fate,
    outputFiles: outputFiles.map(plain),
    log: files.log && plain(files.log),
    ...(storedFiles.length === 0 ? {} : { storedFiles: storedFiles.map(plain) }),
  };
}

const RETURNED: Fate = {
  outcome: 'RETURNED',
  message: 'the hub that lent the instance has taken it back',
};

/** Undefined for a task that did not end with its attempt. */
function fateOfEnd({
  status,
  batchExecutionStatus,
  message,
}: Pick<Task, 'status' | 'batchExecutionStatus' | 'message'>): Fate | undefined {
  if (status === 'FINISHED') return { outcome: 'OK', message };
  if (status !== 'FAILED') return undefined;
  return { outcome: batchExecutionStatus === 'ERROR' ? 'ERROR' : 'FAILED', message };
}

async function fateOfOther(
  { id, attempt }: Task,
  archive: Pick<TaskArchive, 'formerAttempts'>,
): Promise<Fate> {
  const last = (await archive.formerAttempts(id)).at(-1);
  return last && last.attempt === attempt ? fateOfLoss(last.loss, last.reason) : RETURNED;
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
