/** Inspection, backup and restore of the SQLite files in a folder. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type {
  DatabaseReport,
  StoreMaintenance,
  StoreSnapshot,
} from '../../../core/ports/store-maintenance.js';
import { accountsSchemaVersion } from '../accounts/accounts-database.js';
import { lockDatabase, schemaVersion } from '../connection/database.js';
import {
  ACCOUNTS_DATABASE,
  accountsFileIn,
  companionsOf,
  TASKS_DATABASE,
  tasksFileIn,
} from '../connection/database-files.js';
import { reading } from '../connection/read-only.js';
import {
  agentClocks,
  blobObjects,
  damagedInlineBlobs,
  inspectDatabase,
  referencedBlobsIn,
  tasksByStatus,
  tasksReferringTo,
} from './inspection.js';
import { openSnapshot } from './snapshot.js';

/** `folder` is the data folder, or holds the databases of a backup. */
export function sqliteMaintenance(folder: string): StoreMaintenance {
  const tasksFile = tasksFileIn(folder);
  const accountsFile = accountsFileIn(folder);
  return {
    databases: [TASKS_DATABASE, ACCOUNTS_DATABASE],
    files: () => ({
      lock: () => lockDatabase(tasksFile),
      snapshot: () => snapshotOf(tasksFile, accountsFile),
      companionsOf,
    }),
    exists: async () => existsSync(tasksFile) || existsSync(accountsFile),
    hasTasks: async () => existsSync(tasksFile),
    isInUse: async () => isLocked(tasksFile),
    inspect: async ({ quick }) => [
      report('database of tasks', tasksFile, schemaVersion(), quick),
      report('database of users', accountsFile, accountsSchemaVersion(), quick),
    ],
    referencedBlobs: async () => reading(tasksFile, referencedBlobsIn),
    blobObjects: async () => blobObjects(tasksFile),
    damagedInlineBlobs: async () => damagedInlineBlobs(tasksFile),
    tasksReferringTo: async (digest, limit) => tasksReferringTo(tasksFile, digest, limit),
    tasksByStatus: async () => tasksByStatus(tasksFile),
    agentClocks: async () => agentClocks(tasksFile),
    hubs: async () => ({ hubs: [], nowMs: 0 }),
  };
}

function isLocked(file: string): boolean {
  // Trying a lock that does not exist would create its file.
  if (!existsSync(`${file}-lock`)) return false;
  try {
    lockDatabase(file).release();
    return false;
  } catch (error) {
    if (error instanceof StartRefused) return true;
    throw error;
  }
}

function report(title: string, location: string, knownVersion: number, quick: boolean): DatabaseReport {
  try {
    return { title, location, knownVersion, ...inspectDatabase(location, quick) };
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    return { title, location, unreadable: error.message };
  }
}

/** Snapshot of the tasks; the accounts are copied as they are afterwards. */
function snapshotOf(tasksFile: string, accountsFile: string): StoreSnapshot {
  const tasks = openSnapshot(tasksFile);
  return {
    referencedBlobs: tasks.referencedBlobs,
    copyTo: async (folder, onProgress) => {
      await tasks.copyTo(join(folder, TASKS_DATABASE), onProgress);
      const accounts = openSnapshot(accountsFile);
      try {
        await accounts.copyTo(join(folder, ACCOUNTS_DATABASE), () => undefined);
      } finally {
        accounts.close();
      }
    },
    close: tasks.close,
  };
}
