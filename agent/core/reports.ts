/** The report of an ended attempt. */
import type { AttemptOutcome, AttemptReport } from '@workbench-hub/shared/domain/attempt';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import type { AttemptRef } from '@workbench-hub/shared/domain/task';

/** As long as the protocol lets a message for people be. */
const MAX_MESSAGE_LENGTH = 10_000;

/** A report goes in one frame of the link, which holds 16 MiB; half of it leaves room for what JSON adds. */
const MAX_REPORT_LENGTH = 8 * 1024 * 1024;

/** What an attempt came to, before it is put into a report. */
export interface Ending {
  readonly outcome: AttemptOutcome;
  readonly message: string | null;
  /** RETURNED for a fault of this host. */
  readonly hostFault?: boolean;
}

type ReportedFiles = Pick<AttemptReport, 'outputFiles' | 'log'> & {
  readonly storedFiles?: AttemptReport['storedFiles'] | undefined;
};

/** Makes the report; one that is too long to be sent becomes FAILED, with the reason. */
export function attemptReport(
  ref: AttemptRef,
  ending: Ending,
  { storedFiles = [], ...files }: ReportedFiles = { outputFiles: [], log: null },
): AttemptReport {
  const { taskId, attempt, instanceId } = ref;
  const message = ending.message === null ? null : shortened(ending.message);
  const hostFault = ending.hostFault === true ? { hostFault: true } : {};
  const report = { taskId, attempt, instanceId, outcome: ending.outcome, message, ...hostFault, ...files };
  const named = [...files.outputFiles, ...storedFiles];
  let length = 0;
  for (const { path } of named) length += path.length * 2 + 120;
  if (length <= MAX_REPORT_LENGTH) return storedFiles.length === 0 ? report : { ...report, storedFiles };
  const tooMany = `the job left ${named.length} output files, more than a result can list`;
  return { ...report, outcome: 'FAILED', message: tooMany, outputFiles: [] };
}

/** Every content that a report names, each once. */
export function filesOfReport({ outputFiles, storedFiles = [], log }: AttemptReport): FileRef[] {
  const files = new Map<string, FileRef>();
  for (const { digest, sizeBytes } of [...outputFiles, ...storedFiles])
    files.set(digest, { digest, sizeBytes });
  if (log) files.set(log.digest, log);
  return [...files.values()];
}

/** One text for each attempt, to find it by. */
export function attemptKey({ taskId, attempt, instanceId }: AttemptRef): string {
  return `${taskId}/${attempt}/${instanceId}`;
}

function shortened(message: string): string {
  return message.length <= MAX_MESSAGE_LENGTH ? message : `${message.slice(0, MAX_MESSAGE_LENGTH - 1)}…`;
}
