import Database from 'better-sqlite3';
import type { SqliteDatabase } from '../database.js';

/** The database may be held for a moment by a checkpoint. */
const BUSY_TIMEOUT_MS = 10_000;

/** A connection of a thread's own, for reading. */
export function openReader(file: string): SqliteDatabase {
  return new Database(file, { readonly: true, timeout: BUSY_TIMEOUT_MS });
}
