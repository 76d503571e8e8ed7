/** The spool of the agent, on disk: takes the blobs of reports, and keeps both until a hub has acknowledged them. */
import type { FileRef } from '@workbench-hub/shared/domain/job';
import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import type { ReportSpool } from '@workbench-hub/shared/joining/ports/spool';

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

export interface Spool extends ReportSpool {
  createFolder(ref: AttemptRef): Promise<ReportFolder>;
  /** Releases the ballast file on a full disk, for a report or its log; false when it is already released. */
  makeRoom(): Promise<boolean>;
}
