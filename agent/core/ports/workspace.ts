/** The directories in which jobs work. */
import type { NamedFileRef } from '@workbench-hub/shared/domain/job';
import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import type { DiskSpace } from '../disk-space.js';
import type { OutputLimits } from '../outputs.js';
import type { ReportFolder } from './spool.js';

/** Directories of one attempt. All paths are absolute; `path` parameters are relative, with `/`. */
export interface WorkingDirectory {
  /** Working directory of scripts; files that are new or changed in it are outputs. */
  readonly files: string;
  /** Folder whose files go to the output storage. */
  readonly outputStorage: string;
  /** Folder whose files the next attempt of the task gets when this one is returned. */
  readonly checkpoint: string;
  readonly variables: string;
  /** Places a cached blob at `path` in `files`; returns the absolute path. */
  placeFile(path: string, digest: string): Promise<string>;
  /** Places a cached blob at `path` in `checkpoint`. */
  placeCheckpoint(path: string, digest: string): Promise<void>;
  /** Removes all files of `checkpoint`. */
  clearCheckpoint(): Promise<void>;
  /** Places a cached blob beside `files`, as script number `index`, with the ending of its name. */
  placeScript(index: number, digest: string, ending: string): Promise<string>;
  /** Copies a file of this host that lies in `root`, both resolved; rejects with {@link FileNotReadable} when a link was put
   *  into the path since. */
  placeLocalFile(path: string, source: string, root: string): Promise<string>;
  writeVariables(variables: Readonly<Record<string, string>>): Promise<void>;
  /** Records the files that are in `files` now as staged. */
  seal(): Promise<void>;
  /** Moves or copies every output into the folder that `into` gives, sorted by path; without outputs no folder is asked for.
   *  Rejects with {@link JobFailed} when the outputs exceed the limits, unless `isPartial`. */
  collect(into: () => Promise<ReportFolder>, options: CollectOptions): Promise<Collected>;
  /** Moves or copies the files of `checkpoint` into the folder that `into` gives, sorted by path. Rejects with {@link JobFailed} when one of
   *  them cannot be taken, and when they exceed the limits of outputs: a part of them is of no use. */
  collectCheckpoint(
    into: () => Promise<ReportFolder>,
    options: Pick<CollectOptions, 'limits' | 'stay'>,
  ): Promise<readonly NamedFileRef[]>;
  /** Whether a small file can still be written: a quota may be full for this user on a disk with space for others. */
  takesMore(): Promise<boolean>;
  /** Keeps the directory for inspection, also after a restart of the agent. */
  keep(): Promise<void>;
  discard(): Promise<void>;
}

export interface CollectOptions {
  readonly limits: OutputLimits;
  /** Whether the job was ended early: outputs beyond the limits are then skipped, and do not fail it. */
  readonly isPartial: boolean;
  /** Whether outputs must stay in place; otherwise they may be moved, which is cheaper than a copy. */
  readonly stay: boolean;
  /** Whether the hub accepts files for its output storage. */
  readonly isStored: boolean;
}

export interface Collected {
  readonly files: readonly NamedFileRef[];
  readonly skipped: SkippedOutputs;
  /** Files for the output storage; each path is a plain name. */
  readonly storedFiles: readonly NamedFileRef[];
  readonly notStored: SkippedOutputs;
}

/** Entries that are no outputs: some of them, and the number of the others, which a job may leave without limit. */
export interface SkippedOutputs {
  readonly named: readonly SkippedOutput[];
  readonly others: number;
}

export interface SkippedOutput {
  readonly name: string;
  readonly why: string;
}

/** Working directory that is created before its attempt is known; it serves one attempt. */
export interface PreparedDirectory {
  /** Absolute path. Jobs may change nothing in it but the writable folders. */
  readonly path: string;
  /** Folders in which jobs may write. */
  readonly writable: readonly string[];
  /** Removes it, unless an attempt has taken it. Never rejects. */
  abandon(): Promise<void>;
}

export interface Workspace {
  /** Creates the directories of an attempt, or takes those that were prepared for its program. */
  create(ref: AttemptRef, directory?: PreparedDirectory | null): Promise<WorkingDirectory>;
  /** Resolves all links of a path; rejects with {@link FileNotReadable}. */
  resolve(path: string): Promise<string>;
  /** The same for each folder that exists; others are omitted. */
  resolveFolders(paths: readonly string[]): Promise<string[]>;
  /** Free space for working directories and for temporary files. */
  freeSpace(): Promise<DiskSpace[]>;
}

/** A file of this host is missing, is not a file, or may not be read; the message says which. */
export class FileNotReadable extends Error {
  override readonly name = 'FileNotReadable';
}
