/** End of an attempt, as its agent reports it. */
import type { FileRef, NamedFileRef } from './job.js';
import type { AttemptRef } from './task.js';

export const ATTEMPT_OUTCOMES = [
  /** All scripts succeeded, or the simulated work is done. */
  'OK',
  /** A script failed; its outputs are listed. */
  'ERROR',
  /** The scripts could not be run, or the time limit was exceeded; files made until then are listed. */
  'FAILED',
  /** Canceled by the hub; files made until then are listed. */
  'CANCELED',
  /** The instance process died, or broke the protocol. */
  'INSTANCE_LOST',
  /** The agent that ran it at the joined hub was lost. Only of joined hubs. */
  'AGENT_LOST',
  /** Not begun, because the instance was not ready; or ended because the agent stops. */
  'RETURNED',
] as const;
export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number];

export interface AttemptReport extends AttemptRef {
  readonly outcome: AttemptOutcome;
  /** Reason of a failure, for users. */
  readonly message: string | null;
  /** True for RETURNED because of a host fault, such as a full disk. */
  readonly hostFault?: boolean | undefined;
  readonly outputFiles: readonly NamedFileRef[];
  /** Output of the scripts, up to the agent's limit; null when they printed nothing. */
  readonly log: FileRef | null;
  /** Files of the folder WORKBENCH_OUTPUT_STORAGE, with their names as paths. */
  readonly storedFiles?: readonly NamedFileRef[] | undefined;
  /** Checkpoint that the next attempt gets, in place of the one before; only of RETURNED. Absent when the attempt leaves it
   *  unchanged. */
  readonly checkpoint?: readonly NamedFileRef[] | undefined;
}
