/** The directories in which jobs work. */
import type { NamedFileRef } from '@workbench-hub/shared/domain/job';
import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import type { DiskSpace } from '../disk-space.js';
import type { OutputLimits } from '../outputs.js';
import type { ReportFolder } from './spool.js';

/** One attempt's directories. All paths are absolute; `path` parameters are relative, with `/`. */
export interface WorkingDirectory {
  /** Where scripts run; what is new or changed in it afterwards is the output. */
  readonly files: string;
  /** What is in it afterwards goes to the output storage. */
  readonly outputStorage: string;
  readonly variables: string;
  /** Puts a cached content under `path` into `files`, gives where it is. */
  placeFile(path: string, digest: string): Promise<string>;
  /** Puts a cached content beside `files`, as the script number `index`. */
  placeScript(index: number, digest: string): Promise<string>;
  /** Copies a file of this host that lies in `root`, both as they were resolved; rejects with {@link FileNotReadable} when a
   *  link has been put into its way since. */
  placeLocalFile(path: string, source: string, root: string): Promise<string>;
  writeVariables(variables: Readonly<Record<string, string>>): Promise<void>;
  /** Takes what is in `files` now for what was staged. */
  seal(): Promise<void>;
  /** Moves or copies every output into the folder that `into` gives, sorted by path; without outputs no folder is asked for.
   *  Rejects with {@link JobFailed} when the outputs exceed the limits, unless `isPartial`. */
  collect(into: () => Promise<ReportFolder>, options: CollectOptions): Promise<Collected>;
  /** Whether it takes a small file more: a quota is full for this user, or a disk that has space for others. */
  takesMore(): Promise<boolean>;
  /** Leaves it for people to look into, also after a restart of the agent. */
  keep(): Promise<void>;
  discard(): Promise<void>;
}

export interface CollectOptions {
  readonly limits: OutputLimits;
  /** Whether the job was ended early: outputs beyond the limits are then skipped, and do not fail it. */
  readonly isPartial: boolean;
  /** Whether outputs must stay where they are; otherwise they may be moved, which costs nothing. */
  readonly stay: boolean;
  /** Whether the hub takes files for its output storage. */
  readonly isStored: boolean;
}

export interface Collected {
  readonly files: readonly NamedFileRef[];
  readonly skipped: readonly SkippedOutput[];
  /** Files for the output storage; each path is a name. */
  readonly storedFiles: readonly NamedFileRef[];
  readonly notStored: readonly SkippedOutput[];
}

export interface SkippedOutput {
  readonly name: string;
  readonly why: string;
}

/** A working directory that is made before its attempt is known, and serves one at most. */
export interface PreparedDirectory {
  /** Absolute. Nothing in it but the writable folders may be changed by a job. */
  readonly path: string;
  /** The folders in it into which a job may write. */
  readonly writable: readonly string[];
  /** Removes it, unless an attempt has taken it. Never rejects. */
  abandon(): Promise<void>;
}

export interface Workspace {
  /** Makes the directories of an attempt, or takes those that were made for its program. */
  create(ref: AttemptRef, directory?: PreparedDirectory | null): Promise<WorkingDirectory>;
  /** Where a path really leads, links resolved; rejects with {@link FileNotReadable}. */
  resolve(path: string): Promise<string>;
  /** The same for each folder that exists; others are left out. */
  resolveFolders(paths: readonly string[]): Promise<string[]>;
  /** The free space where scripts write: in working directories, and for temporary files. */
  freeSpace(): Promise<DiskSpace[]>;
}

/** A file of this host is missing, is no file, or may not be read; the message says which. */
export class FileNotReadable extends Error {
  override readonly name = 'FileNotReadable';
}
