/** Read-only access to a database file, also while a hub writes it. */
import Database from 'better-sqlite3';
import { refusal, type SqliteDatabase } from './database.js';

const BUSY_TIMEOUT_MS = 10_000;

/** Throws `StartRefused` for a file that is no database or cannot be read. */
export function openReadOnly(file: string): SqliteDatabase {
  try {
    return new Database(file, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
  } catch (error) {
    throw refusal(error, file);
  }
}

/** Opens the database for one read. Throws as {@link openReadOnly}. */
export function reading<T>(file: string, read: (db: SqliteDatabase) => T): T {
  const db = openReadOnly(file);
  try {
    return read(db);
  } catch (error) {
    throw refusal(error, file);
  } finally {
    db.close();
  }
}
