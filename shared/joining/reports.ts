/** The report of an ended attempt. */
import type { AttemptOutcome, AttemptReport } from '../domain/attempt.js';
import type { FileRef } from '../domain/job.js';
import type { AttemptRef } from '../domain/task.js';

/** Limit of the protocol for messages. */
const MAX_MESSAGE_LENGTH = 10_000;

/** Maximum size of a report: half a frame of 16 MiB, which leaves room for JSON overhead. */
const MAX_REPORT_LENGTH = 8 * 1024 * 1024;

/** Maximum size of the list of a checkpoint's files. */
const MAX_CHECKPOINT_BYTES = 2 * 1024 * 1024;

/** Result of an attempt, before it becomes a report. */
export interface Ending {
  readonly outcome: AttemptOutcome;
  readonly message: string | null;
  /** True for RETURNED because of a host fault. */
  readonly hostFault?: boolean;
}

type ReportedFiles = Pick<AttemptReport, 'outputFiles' | 'log' | 'storedFiles' | 'checkpoint'>;

/** Creates the report. One that exceeds the limit becomes FAILED, with the reason; a checkpoint that {@link fitsReport} denies is left out. */
export function attemptReport(
  ref: AttemptRef,
  ending: Ending,
  { storedFiles = [], checkpoint, ...files }: ReportedFiles = { outputFiles: [], log: null },
): AttemptReport {
  const { taskId, attempt, instanceId } = ref;
  const message = ending.message === null ? null : shortened(ending.message);
  const hostFault = ending.hostFault === true ? { hostFault: true } : {};
  const report = { taskId, attempt, instanceId, outcome: ending.outcome, message, ...hostFault, ...files };
  if (checkpoint !== undefined && fitsReport(checkpoint)) return { ...report, checkpoint };
  const named = [...files.outputFiles, ...storedFiles];
  if (lengthOf(named) <= MAX_REPORT_LENGTH)
    return storedFiles.length === 0 ? report : { ...report, storedFiles };
  const tooMany = `the job left ${named.length} output files, more than a result can list`;
  return { ...report, outcome: 'FAILED', message: tooMany, outputFiles: [] };
}

/** Whether a checkpoint is short enough for a report, and for the assignment of the next attempt beside its job. */
export function fitsReport(checkpoint: AttemptReport['checkpoint'] & object): boolean {
  const bytes = checkpoint.reduce((sum, { path }) => sum + Buffer.byteLength(path) + 120, 0);
  return bytes <= MAX_CHECKPOINT_BYTES;
}

/** The report of a returned attempt without its checkpoint. */
export function withoutCheckpoint({ checkpoint: _, ...report }: AttemptReport): AttemptReport {
  return report;
}

/** Length of the names of files in a report, at most. */
function lengthOf(files: readonly { readonly path: string }[]): number {
  return files.reduce((length, { path }) => length + path.length * 2 + 120, 0);
}

/** Blobs that a report names, each once. */
export function filesOfReport({
  outputFiles,
  storedFiles = [],
  checkpoint = [],
  log,
}: AttemptReport): FileRef[] {
  const files = new Map<string, FileRef>();
  for (const { digest, sizeBytes } of [...outputFiles, ...storedFiles, ...checkpoint])
    files.set(digest, { digest, sizeBytes });
  if (log) files.set(log.digest, log);
  return [...files.values()];
}

function shortened(message: string): string {
  return message.length <= MAX_MESSAGE_LENGTH ? message : `${message.slice(0, MAX_MESSAGE_LENGTH - 1)}…`;
}
