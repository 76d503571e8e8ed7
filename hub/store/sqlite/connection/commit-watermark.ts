/**
 * Detection of a database that has lost confirmed transactions, because its log was truncated or removed, or an older file
 * was put in its place: SQLite considers such a file intact. Transactions are counted in the database, and the number of the
 * last confirmed one is kept in a file beside it.
 */
import { closeSync, constants, openSync, readFileSync, writeSync } from 'node:fs';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { SqliteDatabase } from './database.js';

export interface CommitWatermark {
  /** Counts the open transaction; returns its number. */
  count(): number;
  /** Called when all transactions up to this one are synced, before they are confirmed. */
  confirm(commits: number): void;
  close(): void;
}

/** Fixed length, so that writing never needs more space. */
const DIGITS = 16;

/** File beside a database with the number of its last confirmed transaction. */
export function watermarkFileOf(databaseFile: string): string {
  return `${databaseFile}-confirmed`;
}

/** Throws {@link StartRefused} when the database lacks confirmed transactions. */
export function openCommitWatermark(db: SqliteDatabase, databaseFile: string, log: Logger): CommitWatermark {
  const file = watermarkFileOf(databaseFile);
  const has = db.prepare('SELECT commits FROM commit_count').pluck().get() as number;
  const missing = confirmedIn(file) - has;
  if (missing > 0) {
    throw new StartRefused(
      `the database ${databaseFile} lacks the last ${missing} transactions that were confirmed: it or its log ` +
        `(${databaseFile}-wal) was truncated, removed, or replaced by an older one. Put the right files back, or restore a ` +
        `backup (workbench-hub restore); to continue without the lost transactions, delete ${file}`,
    );
  }
  const handle = openSync(file, constants.O_CREAT | constants.O_WRONLY, 0o600);
  let isWritten = true;
  const count = db.prepare('UPDATE commit_count SET commits = commits + 1 RETURNING commits').pluck();
  return {
    count: () => count.get() as number,
    confirm: (commits) => {
      try {
        writeSync(handle, String(commits).padStart(DIGITS, '0'), 0);
        isWritten = true;
      } catch (error) {
        // The transactions are synced nevertheless; only a later loss would go unnoticed. The next call retries.
        if (isWritten) {
          log.warn({ err: error, file }, 'the count of confirmed transactions cannot be written');
        }
        isWritten = false;
      }
    },
    close: () => closeSync(handle),
  };
}

/** 0 when the file does not exist, or a loss of power has left it empty. */
function confirmedIn(file: string): number {
  try {
    const text = readFileSync(file, 'utf8');
    return /^\d+$/.test(text) ? Number(text) : 0;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}
