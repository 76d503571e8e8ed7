/** What has ended and is not settled: reports and the contents that they name, on disk. */
import type { AttemptReport } from '@workbench-hub/shared/domain/attempt';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import type { AttemptRef } from '@workbench-hub/shared/domain/task';

/** Writes one content and learns its digest meanwhile. */
export interface BlobWriter {
  write(bytes: Uint8Array): Promise<void>;
  /** Closes it; it is kept under its digest. */
  finish(): Promise<FileRef>;
  /** Closes and removes it. */
  abandon(): Promise<void>;
}

/** A file that was moved beside the contents of a report, and is none of them yet. */
export interface MovedFile {
  readonly path: string;
  /** Makes it the content with this digest. */
  keep(digest: string): Promise<void>;
  discard(): Promise<void>;
}

/** The contents of one report. */
export interface ReportFolder {
  readonly name: string;
  begin(): Promise<BlobWriter>;
  /** Moves a file here: `moveTo` puts it, or whatever has its name by then, at a path. Undefined when it cannot be moved. */
  move(moveTo: (path: string) => Promise<void>): Promise<MovedFile | undefined>;
  /** Removes it with all that is in it. */
  discard(): Promise<void>;
}

export interface SpooledReport {
  readonly report: AttemptReport;
  /** Name of the folder with its contents, null when it has none. */
  readonly folder: string | null;
  /** What the span of its upload follows from; left out when its trace is not kept. */
  readonly traceContext?: string | undefined;
}

export interface Spool {
  /** What earlier runs of the agent left, oldest first. */
  readonly leftOver: readonly SpooledReport[];
  createFolder(ref: AttemptRef): Promise<ReportFolder>;
  /** Resolves when the report would survive the end of this process. A second one for the same attempt replaces it. */
  put(spooled: SpooledReport): Promise<void>;
  /** Gives up room that is held free, on a full disk, for what tells how an attempt ended; false when there is none. */
  makeRoom(): Promise<boolean>;
  /** Forgets the report and removes its contents. */
  acknowledge(spooled: SpooledReport): Promise<void>;
  /** Reads a content from `fromByte` on; throws {@link BlobLost}, when it begins or later, if it is not there any
   *  more. */
  read(folder: string, file: FileRef, fromByte: number): AsyncIterable<Uint8Array>;
  /** Reads all of a content; rejects with {@link BlobLost} when it is another than its digest says. */
  verify(folder: string, file: FileRef): Promise<void>;
}

export class BlobLost extends Error {
  override readonly name = 'ContentLost';
}
