/** The databases as they are at one moment, read beside the hub that goes on writing them, and what can be said of a
 *  database that nobody writes. */
import { createHash } from 'node:crypto';
import Database from 'better-sqlite3';
import { accountsSchemaVersion } from './accounts/accounts-database.js';
import { refusal, type SqliteDatabase, schemaVersion } from './database.js';

/** A content that a task or a name in the storage refers to and that lies in a file of its own. */
export interface NamedFile {
  readonly digest: string;
  readonly encrypted: boolean;
  readonly sizeBytes: number;
}

export interface Snapshot {
  /** All of them, each once. */
  namedFiles(): NamedFile[];
  /** Copies the database as it was when the snapshot was taken; what is copied and what is left are bytes. */
  copyTo(file: string, onProgress: (copiedBytes: number, leftBytes: number) => void): Promise<void>;
  close(): void;
}

/** So much is copied between two looks at what else there is to do. */
const PAGES_AT_A_TIME = 2000;

const BUSY_TIMEOUT_MS = 10_000;

/** What the tasks and the storage name and what is not in the database itself. */
const NAMED_FILES = `
  SELECT DISTINCT digest, encrypted, size_bytes AS sizeBytes FROM (
    SELECT digest, encrypted, size_bytes FROM task_file
    UNION ALL SELECT digest, encrypted, size_bytes FROM stored_file) AS named
  WHERE encrypted = 1 OR NOT EXISTS (SELECT 1 FROM small_file WHERE small_file.digest = named.digest)
  ORDER BY digest, encrypted`;

/** Takes a snapshot that lasts until it is closed. Writers are not held up; their log grows meanwhile. Throws
 *  `StartRefused` for what is no database. */
export function openSnapshot(file: string): Snapshot {
  const db = openReadOnly(file);
  try {
    // The first look is what ties the transaction to this moment.
    db.exec('BEGIN');
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
  } catch (error) {
    db.close();
    throw refusal(error, file);
  }
  return {
    namedFiles: () => namedFilesIn(db),
    copyTo: async (target, onProgress) => {
      const pageBytes = db.pragma('page_size', { simple: true }) as number;
      await db.backup(target, {
        progress: ({ totalPages, remainingPages }) => {
          onProgress((totalPages - remainingPages) * pageBytes, remainingPages * pageBytes);
          return PAGES_AT_A_TIME;
        },
      });
    },
    close: () => db.close(),
  };
}

export interface InspectedDatabase {
  /** What is wrong with it, in the words of SQLite; empty when nothing is. */
  readonly faults: readonly string[];
  readonly schemaVersion: number;
  /** The greatest that this build knows. */
  readonly knownVersion: number;
}

/** Looks through a database, `quick` without holding its indexes against its tables. Throws `StartRefused` for what is no
 *  database. */
export function inspectDatabase(
  file: string,
  kind: 'TASKS' | 'ACCOUNTS',
  { quick }: { readonly quick: boolean },
): InspectedDatabase {
  return reading(file, (db) => {
    const rows = db.pragma(quick ? 'quick_check(20)' : 'integrity_check(20)') as Record<string, string>[];
    const found = rows.map((row) => Object.values(row)[0] ?? '').filter((text) => text !== 'ok');
    const broken = (db.pragma('foreign_key_check') as { table: string }[]).slice(0, 20);
    return {
      faults: [...found, ...broken.map(({ table }) => `a row of ${table} refers to one that is not there`)],
      schemaVersion: db.pragma('user_version', { simple: true }) as number,
      knownVersion: kind === 'TASKS' ? schemaVersion() : accountsSchemaVersion(),
    };
  });
}

/** As {@link Snapshot.namedFiles}, of a database at rest. */
export function namedFilesOf(file: string): NamedFile[] {
  return reading(file, namedFilesIn);
}

/** How many tasks are in each status. */
export function tasksByStatus(file: string): Record<string, number> {
  return reading(file, (db) =>
    Object.fromEntries(
      db
        .prepare<[], { status: string; tasks: number }>(
          'SELECT status, count(*) AS tasks FROM task GROUP BY status ORDER BY status',
        )
        .all()
        .map(({ status, tasks }) => [status, tasks]),
    ),
  );
}

/** The small contents in the database that are not what their names promise. */
export function damagedInlineBlobs(file: string): string[] {
  return reading(file, (db) => {
    const damaged: string[] = [];
    const all = db.prepare<[], { digest: string; content: Buffer }>('SELECT digest, content FROM small_file');
    for (const { digest, content } of all.iterate()) {
      if (createHash('sha256').update(content).digest('hex') !== digest) damaged.push(digest);
    }
    return damaged;
  });
}

/** Some of the tasks that name this content. */
export function tasksNaming(file: string, digest: string, limit: number): string[] {
  return reading(file, (db) =>
    db
      .prepare<[string, number], string>(
        `SELECT DISTINCT task.id FROM task_file JOIN task ON task.seq = task_file.task_seq
         WHERE task_file.digest = ? LIMIT ?`,
      )
      .pluck()
      .all(digest, limit),
  );
}

/** How far the clocks of agents were ahead when they last joined, as far as they said. */
export function agentClocks(file: string): { readonly agentId: string; readonly offsetMs: number }[] {
  return reading(file, (db) => {
    const columns = db.pragma('table_info(agent)') as { name: string }[];
    // A hub of before has not noted them.
    if (!columns.some(({ name }) => name === 'clock_offset_ms')) return [];
    return db
      .prepare<[], { agentId: string; offsetMs: number }>(
        `SELECT id AS agentId, clock_offset_ms AS offsetMs FROM agent
         WHERE clock_offset_ms IS NOT NULL ORDER BY id`,
      )
      .all();
  });
}

function reading<T>(file: string, look: (db: SqliteDatabase) => T): T {
  const db = openReadOnly(file);
  try {
    return look(db);
  } catch (error) {
    throw refusal(error, file);
  } finally {
    db.close();
  }
}

function openReadOnly(file: string): SqliteDatabase {
  try {
    return new Database(file, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
  } catch (error) {
    throw refusal(error, file);
  }
}

function namedFilesIn(db: SqliteDatabase): NamedFile[] {
  return db
    .prepare<[], { digest: string; encrypted: number; sizeBytes: number }>(NAMED_FILES)
    .all()
    .map(({ digest, encrypted, sizeBytes }) => ({ digest, encrypted: encrypted === 1, sizeBytes }));
}
