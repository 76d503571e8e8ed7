/** The task store on one SQLite file. */
import { existsSync } from 'node:fs';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import type { TaskStore } from '../../core/ports/store.js';
import { openBallastFile } from './connection/ballast-file.js';
import { type CommitWatermark, openCommitWatermark, watermarkFileOf } from './connection/commit-watermark.js';
import { openDatabase, type SqliteDatabase } from './connection/database.js';
import { GroupCommit, type StoreWatch } from './connection/group-commit.js';
import type { PendingCompletions } from './connection/pending-completions.js';
import { walSync } from './connection/wal-sync.js';
import { sqliteAllocations } from './hosts/allocations.js';
import { TaskLists } from './lists/task-lists.js';
import { sqliteAgentRollouts } from './objects/agent-rollouts.js';
import { sqliteAgentStore } from './objects/agent-store.js';
import { sqliteBlobCatalogue } from './objects/blob-catalogue.js';
import { sqliteInlineBlobs } from './objects/inline-blobs.js';
import { nameTable, sqliteNamedObjects } from './objects/named-objects.js';
import { sqliteResumableUploads } from './objects/resumable-uploads.js';
import { toldAll } from './rows/changed-tasks.js';
import { sqliteInvalidations } from './studies/invalidations.js';
import { sqliteStudies } from './studies/studies.js';
import { beginHistory, ChangeLog } from './tasks/change-log.js';
import { sqliteOpenLoans } from './tasks/open-loans.js';
import { sqliteTaskArchive } from './tasks/task-archive.js';
import { sqliteTaskExclusions } from './tasks/task-exclusions.js';
import { sqliteTaskQueue } from './tasks/task-queue.js';
import { sqliteTaskStatistics } from './tasks/task-statistics.js';
import { sqliteWebhookDeliveries } from './tasks/webhook-deliveries.js';
import { WebhookOutbox } from './tasks/webhook-outbox.js';

export interface SqliteTaskStore extends TaskStore {
  readonly changes: ChangeLog;
  /** Syncs what an earlier process wrote and may have died before syncing. Data read before this resolves may not be
   *  durable. */
  syncLeftOver(): Promise<void>;
  /** Writes what waits and closes the file. */
  close(): Promise<void>;
}

/** Throws `StartRefused` as `openDatabase` does. */
export function openSqliteStore(
  file: string,
  timers: Timers,
  log: Logger,
  watch?: StoreWatch,
): SqliteTaskStore {
  const db = openDatabase(file);
  const watermark = watermarkOf(db, file, log);
  const wal = walSync(file);
  const ballast = openBallastFile(file, log);
  const commit = new GroupCommit(db, {
    timers,
    log,
    sync: wal.sync,
    watermark,
    ballast,
    onSyncFailed: crash,
    watch,
  });
  const lists = new TaskLists({ file, rows: { db, commit, timers }, log });
  const store = portsOver(db, commit, lists, timers);
  return {
    ...store,
    syncLeftOver: wal.sync,
    close: async () => {
      store.changes.close();
      await commit.close();
      await lists.close();
      await wal.close();
      db.close();
      watermark.close();
      ballast.close();
    },
  };
}

/** The ports over an open database. */
export function portsOver(
  db: SqliteDatabase,
  commit: GroupCommit,
  lists: TaskLists,
  timers: Timers,
): TaskStore & { readonly changes: ChangeLog } {
  const changes = new ChangeLog({ db, commit, timers });
  const outbox = new WebhookOutbox(db, commit);
  const changed = toldAll([lists, changes, outbox]);
  const pending: PendingCompletions = new Map();
  const names = nameTable(db);
  return {
    queue: sqliteTaskQueue({ db, commit, changed, pending, names, outbox }),
    archive: sqliteTaskArchive(db, commit, lists, changed, pending),
    changes,
    exclusions: sqliteTaskExclusions(db, commit),
    loans: sqliteOpenLoans(db, commit),
    allocations: sqliteAllocations(db, commit),
    rollouts: sqliteAgentRollouts(db, commit),
    studies: sqliteStudies(db, commit, outbox),
    invalidations: sqliteInvalidations(db, commit),
    statistics: sqliteTaskStatistics(db, commit),
    webhooks: sqliteWebhookDeliveries(db, commit, outbox),
    agents: sqliteAgentStore(db, commit),
    inlineBlobs: sqliteInlineBlobs(db, commit),
    blobCatalogue: sqliteBlobCatalogue(db, commit),
    namedObjects: sqliteNamedObjects(db, commit, names),
    uploads: sqliteResumableUploads(db, commit, names),
  };
}

function watermarkOf(db: SqliteDatabase, file: string, log: Logger): CommitWatermark {
  try {
    // There is none in a new database, after a restore, and where the loss of transactions was accepted.
    if (!existsSync(watermarkFileOf(file))) beginHistory(db);
    return openCommitWatermark(db, file, log);
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Ends the process by an uncaught exception. */
function crash(error: unknown): void {
  setImmediate(() => {
    throw error;
  });
}
