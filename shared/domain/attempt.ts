/** How one run of a task on one instance ended, as its agent saw it. */
import type { FileRef, NamedFileRef } from './job.js';
import type { AttemptRef } from './task.js';

export const ATTEMPT_OUTCOMES = [
  /** Every script ended well, or the simulated work is done. */
  'OK',
  /** A script failed; what was produced is listed. */
  'ERROR',
  /** The scripts could not be run, or the time limit was over. */
  'FAILED',
  /** Ended because the hub said so. */
  'CANCELED',
  /** The instance process died, or no longer spoke the protocol. */
  'INSTANCE_LOST',
  /** Never begun, because the instance was not ready any more; or ended because the agent stops. */
  'RETURNED',
] as const;
export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number];

export interface AttemptReport extends AttemptRef {
  readonly outcome: AttemptOutcome;
  /** For people: what went wrong. */
  readonly message: string | null;
  /** Of a RETURNED attempt: it met a fault of the agent's host, such as a full disk. */
  readonly hostFault?: boolean | undefined;
  readonly outputFiles: readonly NamedFileRef[];
  /** Everything that the scripts printed, up to the agent's limit; null when nothing. */
  readonly log: FileRef | null;
  /** What the scripts put into the folder WORKBENCH_OUTPUT_STORAGE, with its file names as paths. */
  readonly storedFiles?: readonly NamedFileRef[] | undefined;
}
