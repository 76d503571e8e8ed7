/** The tasks database: opening, lock and migrations. */
import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { PRIVATE_FILE_MODE, PRIVATE_FOLDER_MODE } from '@workbench-hub/shared/runtime/private-files';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import Database from 'better-sqlite3';
import { initial } from '../schema/migrations/0001-initial.js';
import { nameOnce } from '../schema/migrations/0002-name-once.js';
import { storage } from '../schema/migrations/0003-storage.js';
import { agentClock } from '../schema/migrations/0004-agent-clock.js';
import { requestId } from '../schema/migrations/0005-request-id.js';
import { commitCount } from '../schema/migrations/0006-commit-count.js';
import { traceContext } from '../schema/migrations/0007-trace-context.js';
import { droppedContents } from '../schema/migrations/0009-dropped-contents.js';
import { tasksByRequirement } from '../schema/migrations/0010-tasks-by-requirement.js';
import { ignoredFields } from '../schema/migrations/0011-ignored-fields.js';
import { formerAttempts } from '../schema/migrations/0012-former-attempts.js';
import { taskChanges } from '../schema/migrations/0013-task-changes.js';
import { keysAndStatistics } from '../schema/migrations/0014-keys-and-statistics.js';
import { webhookDeliveries } from '../schema/migrations/0015-webhook-deliveries.js';
import { resumableUploads } from '../schema/migrations/0016-resumable-uploads.js';
import { taskExclusions } from '../schema/migrations/0017-task-exclusions.js';
import { blobCatalogue } from '../schema/migrations/0018-blob-catalogue.js';
import { keysOfDeletedTasks } from '../schema/migrations/0019-keys-of-deleted-tasks.js';
import { taskDurations } from '../schema/migrations/0020-task-durations.js';
import { listedTasks } from '../schema/migrations/0021-listed-tasks.js';
import { notes } from '../schema/migrations/0022-notes.js';
import { loans } from '../schema/migrations/0023-loans.js';
import { studies } from '../schema/migrations/0024-studies.js';
import { studyRules } from '../schema/migrations/0025-study-rules.js';
import { tasksOfStudies } from '../schema/migrations/0026-tasks-of-studies.js';
import { webhooksOfStudies } from '../schema/migrations/0027-webhooks-of-studies.js';
import { bundlesOfPoints } from '../schema/migrations/0028-bundles-of-points.js';
import { allocations } from '../schema/migrations/0029-allocations.js';
import { agentInstallation } from '../schema/migrations/0030-agent-installation.js';
import { agentRollouts } from '../schema/migrations/0031-agent-rollouts.js';
import { allocationsForUsers } from '../schema/migrations/0032-allocations-for-users.js';
import { resumesOfStudies } from '../schema/migrations/0033-resumes-of-studies.js';
import { refuseDamaged } from './integrity-check.js';

export type SqliteDatabase = Database.Database;

/** In order; a released migration never changes. */
export const MIGRATIONS: readonly string[] = [
  initial,
  nameOnce,
  storage,
  agentClock,
  requestId,
  commitCount,
  traceContext,
  droppedContents,
  tasksByRequirement,
  ignoredFields,
  formerAttempts,
  taskChanges,
  keysAndStatistics,
  webhookDeliveries,
  resumableUploads,
  taskExclusions,
  blobCatalogue,
  keysOfDeletedTasks,
  taskDurations,
  listedTasks,
  notes,
  loans,
  studies,
  studyRules,
  tasksOfStudies,
  webhooksOfStudies,
  bundlesOfPoints,
  allocations,
  agentInstallation,
  agentRollouts,
  allocationsForUsers,
  resumesOfStudies,
];

/** Pages of the write-ahead log that start a checkpoint. */
const CHECKPOINT_PAGES = 4000;

/** Opens or creates the database. Throws {@link StartRefused} when another hub has it open, a newer version wrote it, or it
 *  is damaged or no database. */
export function openDatabase(file: string): SqliteDatabase {
  mkdirSync(dirname(file), { recursive: true, mode: PRIVATE_FOLDER_MODE });
  let db: SqliteDatabase | undefined;
  try {
    db = new OwnedDatabase(file);
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = NORMAL'); // and the log is synced by wal-sync.ts
    db.pragma('foreign_keys = ON');
    db.pragma('cache_size = -16384');
    db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    refuseDamaged(db, file);
    migrate(db, file, MIGRATIONS);
    return db;
  } catch (error) {
    db?.close();
    throw refusal(error, file);
  }
}

/** The schema version that this build writes. */
export function schemaVersion(): number {
  return MIGRATIONS.length;
}

/** Locks the database against every hub until the lock is released. Throws {@link StartRefused} while a hub holds it. The
 *  lock is on an empty file beside the database, which the list thread must be able to read; it ends with its process. `what` is
 *  in use, in words. */
export function lockDatabase(file: string, what = `the database ${file}`): { release(): void } {
  let db: SqliteDatabase | undefined;
  makePrivateFile(`${file}-lock`);
  try {
    db = new Database(`${file}-lock`, { timeout: 0 });
    db.pragma('locking_mode = EXCLUSIVE');
    db.exec('BEGIN EXCLUSIVE; COMMIT');
    const held = db;
    return { release: () => void held.close() };
  } catch (error) {
    db?.close();
    throw refusal(error, file, what);
  }
}

/** Creates a missing database file with private permissions, for SQLite applies the umask. Files that SQLite puts beside it
 *  get the same mode. */
export function makePrivateFile(file: string): void {
  if (file === ':memory:' || existsSync(file)) return;
  try {
    closeSync(openSync(file, 'a', PRIVATE_FILE_MODE));
  } catch {
    // SQLite will fail in the same way, with a message that operators know.
  }
}

/** A database that holds its lock while it is open. The lock is a connection of its own: an attached database would take part
 *  in every transaction. */
class OwnedDatabase extends Database {
  readonly #lock: { release(): void };

  constructor(file: string) {
    const lock = lockDatabase(file);
    try {
      makePrivateFile(file);
      super(file, { timeout: 0 });
    } catch (error) {
      lock.release();
      throw error;
    }
    this.#lock = lock;
  }

  override close(): this {
    super.close();
    this.#lock.release();
    return this;
  }
}

/** Brings the schema up to date, in one transaction. The version of a file is the number of migrations applied. */
export function migrate(db: SqliteDatabase, file: string, migrations: readonly string[]): void {
  const versionNow = () => db.pragma('user_version', { simple: true }) as number;
  const version = versionNow();
  if (version > migrations.length) {
    throw new StartRefused(
      `the database ${file} has schema version ${version}, this hub knows up to ${migrations.length}: ` +
        'start the newer hub that wrote it, or restore a backup from before the update',
    );
  }
  if (version === migrations.length) return;
  db.transaction(() => {
    // Another process may have applied some in the meantime.
    const missing = migrations.slice(versionNow());
    if (missing.length === 0) return;
    for (const migration of missing) db.exec(migration);
    db.pragma(`user_version = ${migrations.length}`);
  }).immediate();
}

/** Error for the operator when a database cannot be opened. */
export function refusal(error: unknown, file: string, what = `the database ${file}`): unknown {
  if ((error as NodeJS.ErrnoException).code === 'ERR_DLOPEN_FAILED') {
    return new StartRefused(
      `SQLite's add-on (better-sqlite3) was built for another Node.js than this one, ${process.version}: ` +
        'run "npm rebuild better-sqlite3" where the hub is installed, or start the hub with the Node.js of its installation',
    );
  }
  if (!(error instanceof Database.SqliteError)) return error;
  if (error.code === 'SQLITE_BUSY') {
    return new StartRefused(`${what} is in use: another hub runs with the same dataDir`);
  }
  const isDamaged = error.code.startsWith('SQLITE_CORRUPT') || error.code === 'SQLITE_NOTADB';
  const advice = isDamaged ? '; restore a backup (workbench-hub restore)' : '';
  return new StartRefused(`the database ${file} cannot be used: ${error.message} (${error.code})${advice}`);
}
