/**
 * Notices when a database has lost what somebody was told is durable: its log was cut short or removed, or an older file
 * was put in its place. SQLite takes such a file for sound. So the transactions are counted in the database, and beside it
 * stands the count up to which they were confirmed.
 */
import { closeSync, constants, openSync, readFileSync, writeSync } from 'node:fs';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { SqliteDatabase } from './database.js';

export interface CommitWatermark {
  /** Counts the transaction that is open; gives its number. */
  count(): number;
  /** All transactions up to this one are synced, and about to be told. */
  confirm(commits: number): void;
  close(): void;
}

/** Always as long, so that writing it never takes more room. */
const DIGITS = 16;

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
        `(${databaseFile}-wal) was cut short, removed, or replaced by an older one. Put the right files back, or restore a ` +
        `backup (workbench-hub restore); to go on without what is lost, delete ${file}`,
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
        // What was confirmed is synced all the same; only a later loss of it would go unnoticed. The next one is tried again.
        if (isWritten) {
          log.warn({ err: error, file }, 'the count of confirmed transactions cannot be written');
        }
        isWritten = false;
      }
    },
    close: () => closeSync(handle),
  };
}

/** 0 when nothing is known: there is no such file, or a loss of power has left nothing in it. */
function confirmedIn(file: string): number {
  try {
    const text = readFileSync(file, 'utf8');
    return /^\d+$/.test(text) ? Number(text) : 0;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}
