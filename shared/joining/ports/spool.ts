/** The spool, as the delivery of reports needs it: reports that no hub has acknowledged, and their blobs. */
import type { AttemptReport } from '../../domain/attempt.js';
import type { FileRef } from '../../domain/job.js';

export interface SpooledReport {
  readonly report: AttemptReport;
  /** Name of the folder with its blobs; null when it has none. */
  readonly folder: string | null;
  /** Parent of the upload's span; absent when its trace is not sampled. */
  readonly traceContext?: string | undefined;
  /** Proof of the attempt's assignment; absent when the hub gave none. */
  readonly proof?: string | undefined;
}

export interface ReportSpool {
  /** Reports of earlier runs of the program, oldest first. */
  readonly leftOver: readonly SpooledReport[];
  /** Resolves when the report survives the end of this process. A second one for the same attempt replaces it. */
  put(spooled: SpooledReport): Promise<void>;
  /** Forgets the report and removes its blobs. */
  acknowledge(spooled: SpooledReport): Promise<void>;
  /** Reads a blob from `fromByte` on; throws {@link BlobLost}, at any time, when it is missing or damaged, and TransferFailed
   *  `UNAVAILABLE` when it cannot be read for now. */
  read(folder: string, file: FileRef, fromByte: number): AsyncIterable<Uint8Array>;
  /** Reads all of a small blob, at once if it can; throws or rejects as {@link read}, also when its digest differs. */
  readSmall(folder: string, file: FileRef): Buffer | Promise<Buffer>;
  /** Reads all of a blob; rejects as {@link read}, also when its digest differs. */
  verify(folder: string, file: FileRef): Promise<void>;
}

export class BlobLost extends Error {
  override readonly name = 'ContentLost';
}
