/** Inspection, backup and restore of a store that this process does not run. All throw or reject with `StartRefused`,
 *  in words for the operator, when the store cannot be read. */
import type { HubView } from './hubs.js';

/** An object that has the file of a blob. */
export interface BlobObject {
  /** Name of the file. */
  readonly name: string;
  readonly object: string;
}

/** A blob outside the database that a task or a named object refers to. */
export interface ReferencedBlob {
  readonly digest: string;
  readonly encrypted: boolean;
  readonly sizeBytes: number;
}

export interface DatabaseInspection {
  /** Name of the database, for the operator. */
  readonly title: string;
  /** Location of the database, such as a path. */
  readonly location: string;
  /** Damage found; empty when there is none. */
  readonly faults: readonly string[];
  readonly schemaVersion: number;
  /** The highest schema version that this build knows. */
  readonly knownVersion: number;
}

/** The result of one database, or why it could not be read. */
export type DatabaseReport =
  | DatabaseInspection
  | { readonly title: string; readonly location: string; readonly unreadable: string };

/** A consistent view of a store, which lasts until it is closed and holds up no writer. */
export interface StoreSnapshot {
  /** Each blob once. */
  referencedBlobs(): readonly ReferencedBlob[];
  /** Copies the databases into a folder, each under its name in {@link StoreMaintenance.databases}. */
  copyTo(folder: string, onProgress: (copiedBytes: number, leftBytes: number) => void): Promise<void>;
  close(): void;
}

/** Backup and restore of a store whose databases are files in the data folder. */
export interface StoreFiles {
  /** Keeps every hub away until released. Throws `StartRefused` while a hub has the store open. */
  lock(): { release(): void };
  snapshot(): StoreSnapshot;
  /** Names of files that belong to one of these files and are replaced with it: logs and counters. */
  companionsOf(fileName: string): readonly string[];
}

/** Hubs of a store, and the time at which they were read. */
export interface StoredHubs {
  readonly hubs: readonly HubView[];
  /** By the clock of the store. */
  readonly nowMs: number;
}

export interface StoreMaintenance {
  /** File names of the databases in the data folder and in backups; none of a store that is elsewhere. */
  readonly databases: readonly string[];
  /** Throws `StartRefused`, which names the tool that makes backups, for a store that is elsewhere. */
  files(): StoreFiles;
  /** Whether any of its databases is there. */
  exists(): Promise<boolean>;
  /** Whether a hub has kept tasks in it. */
  hasTasks(): Promise<boolean>;
  /** Whether a hub has the store open. Creates nothing. */
  isInUse(): Promise<boolean>;
  /** Checks each database for damage, first that of the tasks; `quick` leaves out the comparison of indexes with tables. */
  inspect(options: { readonly quick: boolean }): Promise<readonly DatabaseReport[]>;
  referencedBlobs(): Promise<readonly ReferencedBlob[]>;
  /** The catalogue of an object store; empty with blobs in a folder. */
  blobObjects(): Promise<readonly BlobObject[]>;
  /** Digests of the inline blobs whose bytes do not match. */
  damagedInlineBlobs(): Promise<readonly string[]>;
  /** Ids of tasks that refer to a blob, at most `limit`. */
  tasksReferringTo(digest: string, limit: number): Promise<readonly string[]>;
  /** Number of tasks in each status. */
  tasksByStatus(): Promise<Readonly<Record<string, number>>>;
  /** Clock offsets of agents at their last join. */
  agentClocks(): Promise<readonly { readonly agentId: string; readonly offsetMs: number }[]>;
  /** None for a store that one hub has alone. */
  hubs(): Promise<StoredHubs>;
}
