import Database from 'better-sqlite3';
import type { SqliteDatabase } from '../connection/database.js';

/** A checkpoint may lock the database for a moment. */
const BUSY_TIMEOUT_MS = 10_000;

/** Enough for the rows of a page; full scans are not cached. */
const CACHE_KIB = 1024;

/** Beginning of the file that is read as memory that the system shares with its file cache: a scan takes half the time of one that
 *  copies each page. These pages count as memory of the process while they are mapped. A failing disk then ends the process, as it
 *  does when a commit cannot be synced. */
const MAPPED_BYTES = 2 ** 31 - 2 ** 16;

/** A read-only connection for the list thread. */
export function openReader(file: string): SqliteDatabase {
  const db = new Database(file, { readonly: true, timeout: BUSY_TIMEOUT_MS });
  db.pragma(`cache_size = -${CACHE_KIB}`);
  db.pragma(`mmap_size = ${MAPPED_BYTES}`);
  return db;
}
