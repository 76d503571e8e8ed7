/** The task store on one SQLite file. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import type { TaskStore } from '../../core/ports/store.js';
import { sqliteAgentStore } from './agent-store.js';
import { openBallastFile } from './ballast-file.js';
import { type CommitWatermark, openCommitWatermark } from './commit-watermark.js';
import { openDatabase, type SqliteDatabase } from './database.js';
import { GroupCommit, type StoreWatch } from './group-commit.js';
import { sqliteInlineBlobs } from './inline-blobs.js';
import { TaskLists } from './lists/task-lists.js';
import { nameTable, sqliteNamedObjects } from './named-objects.js';
import type { PendingCompletions } from './pending-completions.js';
import { sqliteTaskArchive } from './task-archive.js';
import { sqliteTaskQueue } from './task-queue.js';
import { walSync } from './wal-sync.js';

export interface SqliteTaskStore extends TaskStore {
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
  const lists = new TaskLists({ file, timers, log });
  return {
    ...storeOver(db, commit, lists),
    syncLeftOver: wal.sync,
    close: async () => {
      commit.flush();
      await commit.synced();
      await lists.close();
      await wal.close();
      db.close();
      watermark.close();
      ballast.close();
    },
  };
}

/** The ports over an open database. */
export function storeOver(db: SqliteDatabase, commit: GroupCommit, lists: TaskLists): TaskStore {
  const pending: PendingCompletions = new Map();
  const names = nameTable(db);
  return {
    queue: sqliteTaskQueue(db, commit, lists, pending, names),
    archive: sqliteTaskArchive(db, commit, lists, pending),
    agents: sqliteAgentStore(db, commit),
    inlineBlobs: sqliteInlineBlobs(db, commit),
    namedObjects: sqliteNamedObjects(db, commit, names),
  };
}

function watermarkOf(db: SqliteDatabase, file: string, log: Logger): CommitWatermark {
  try {
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
