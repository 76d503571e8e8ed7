/** Inspection, backup and restore of a store that this process does not run. All throw or reject with `StartRefused`,
 *  in words for the operator, when the store cannot be read. */

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

/** A consistent view of the store, which lasts until it is closed and holds up no writer. */
export interface StoreSnapshot {
  /** Each blob once. */
  referencedBlobs(): readonly ReferencedBlob[];
  /** Copies the databases into a folder, each under its name in {@link StoreMaintenance.databases}. */
  copyTo(folder: string, onProgress: (copiedBytes: number, leftBytes: number) => void): Promise<void>;
  close(): void;
}

export interface StoreMaintenance {
  /** File names of the databases, in the data folder and in backups. */
  readonly databases: readonly string[];
  /** Whether a store is there. */
  exists(): boolean;
  /** Whether a hub has the store open. Creates nothing. */
  isInUse(): boolean;
  /** Keeps every hub away until released. Throws `StartRefused` while a hub has the store open. */
  lock(): { release(): void };
  /** Checks each database for damage; `quick` leaves out the comparison of indexes with tables. */
  inspect(options: { readonly quick: boolean }): readonly DatabaseReport[];
  snapshot(): StoreSnapshot;
  referencedBlobs(): readonly ReferencedBlob[];
  /** Digests of the inline blobs whose bytes do not match. */
  damagedInlineBlobs(): readonly string[];
  /** Ids of tasks that refer to a blob, at most `limit`. */
  tasksReferringTo(digest: string, limit: number): readonly string[];
  /** Number of tasks in each status. */
  tasksByStatus(): Readonly<Record<string, number>>;
  /** Clock offsets of agents at their last join. */
  agentClocks(): readonly { readonly agentId: string; readonly offsetMs: number }[];
  /** Names of files that belong to one of these files and are replaced with it: logs and counters. */
  companionsOf(fileName: string): readonly string[];
}
