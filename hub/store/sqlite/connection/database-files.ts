/** The files of the store in the data folder. */
import { stat } from 'node:fs/promises';
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

/** Size of all these files together; a missing one has none. */
export async function bytesOf(files: readonly string[]): Promise<number> {
  const sizes = files.map((file) =>
    stat(file).then(
      ({ size }) => size,
      () => 0,
    ),
  );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
