/** The spool: reports that no hub has acknowledged, and their blobs, on disk. */
import type { AttemptReport } from '@workbench-hub/shared/domain/attempt';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import type { AttemptRef } from '@workbench-hub/shared/domain/task';

/** Writer of one blob, which computes its digest. */
export interface BlobWriter {
  write(bytes: Uint8Array): Promise<void>;
  /** Closes the blob and keeps it under its digest. */
  finish(): Promise<FileRef>;
  /** Closes and removes the blob. */
  abandon(): Promise<void>;
}

/** File that was moved into a report's folder and is not a blob yet. */
export interface MovedFile {
  readonly path: string;
  /** Turns it into the blob with this digest. */
  keep(digest: string): Promise<void>;
  discard(): Promise<void>;
}

/** Folder with the blobs of one report. */
export interface ReportFolder {
  readonly name: string;
  begin(): Promise<BlobWriter>;
  /** Moves a file here: `moveTo` moves the entry of that name to a path. Undefined when it cannot be moved. */
  move(moveTo: (path: string) => Promise<void>): Promise<MovedFile | undefined>;
  /** Removes the folder with its contents. */
  discard(): Promise<void>;
}

export interface SpooledReport {
  readonly report: AttemptReport;
  /** Name of the folder with its blobs; null when it has none. */
  readonly folder: string | null;
  /** Parent of the upload's span; absent when its trace is not sampled. */
  readonly traceContext?: string | undefined;
  /** Proof of the attempt's assignment; absent when the hub gave none. */
  readonly proof?: string | undefined;
}

export interface Spool {
  /** Reports of earlier runs of the agent, oldest first. */
  readonly leftOver: readonly SpooledReport[];
  createFolder(ref: AttemptRef): Promise<ReportFolder>;
  /** Resolves when the report survives the end of this process. A second one for the same attempt replaces it. */
  put(spooled: SpooledReport): Promise<void>;
  /** Releases the ballast file on a full disk, for a report or its log; false when it is already released. */
  makeRoom(): Promise<boolean>;
  /** Forgets the report and removes its blobs. */
  acknowledge(spooled: SpooledReport): Promise<void>;
  /** Reads a blob from `fromByte` on; throws {@link BlobLost}, at any time, when it is missing or damaged. */
  read(folder: string, file: FileRef, fromByte: number): AsyncIterable<Uint8Array>;
  /** Reads all of a small blob at once; throws {@link BlobLost} when it is missing or damaged. */
  readSmall(folder: string, file: FileRef): Buffer;
  /** Reads all of a blob; rejects with {@link BlobLost} when its digest differs. */
  verify(folder: string, file: FileRef): Promise<void>;
}

export class BlobLost extends Error {
  override readonly name = 'ContentLost';
}
