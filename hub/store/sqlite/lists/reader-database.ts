import Database from 'better-sqlite3';
import type { SqliteDatabase } from '../database.js';

/** The database may be held for a moment by a checkpoint. */
const BUSY_TIMEOUT_MS = 10_000;

/** Enough for the rows of a page; what is read through from end to end is not kept. */
const CACHE_KIB = 1024;

/** A connection of a thread's own, for reading. */
export function openReader(file: string): SqliteDatabase {
  const db = new Database(file, { readonly: true, timeout: BUSY_TIMEOUT_MS });
  db.pragma(`cache_size = -${CACHE_KIB}`);
  return db;
}

/**
 * For the threads that hold columns. What they make is either short-lived or kept for good, and they are told nothing for
 * long: memory that fills up before rubbish is looked for would stay as large as it once was.
 */
export const COLUMNS_THREAD_LIMITS = { maxYoungGenerationSizeMb: 3 } as const;
