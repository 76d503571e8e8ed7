/** The files of the store in the data folder. */
import { join } from 'node:path';
import { watermarkFileOf } from './commit-watermark.js';

export const TASKS_DATABASE = 'hub.sqlite';
export const ACCOUNTS_DATABASE = 'accounts.sqlite';

/** Database of tasks, queue, and inline blobs. One hub has it open. */
export function tasksFileIn(dataDir: string): string {
  return join(dataDir, TASKS_DATABASE);
}

/** Database of users, sessions, tokens and credentials. Commands open it beside the running hub. */
export function accountsFileIn(dataDir: string): string {
  return join(dataDir, ACCOUNTS_DATABASE);
}

/** A database and its write-ahead log. */
export function withWriteAheadLog(file: string): readonly string[] {
  return [file, `${file}-wal`];
}

/** Files beside a database that belong to its present content. */
export function companionsOf(file: string): readonly string[] {
  return [`${file}-wal`, `${file}-shm`, watermarkFileOf(file)];
}
