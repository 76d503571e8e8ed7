import Database from 'better-sqlite3';
import { HubError } from '../../../core/errors.js';

/** Whether an error of SQLite says that the disk is full. */
export function isFull(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code === 'SQLITE_FULL';
}

/** Error that a client may see for an error of the database; undefined for any other error. */
export function storeError(error: unknown): HubError | undefined {
  if (!(error instanceof Database.SqliteError)) return undefined;
  return isFull(error)
    ? new HubError('STORAGE_FULL', 'the disk of the hub is full; nothing was changed', { cause: error })
    : new HubError('STORE_UNAVAILABLE', 'the hub cannot write its database; nothing was changed', {
        cause: error,
      });
}

/** Error of a write to a store that was closed. */
export function storeClosed(): HubError {
  return new HubError('STORE_UNAVAILABLE', 'the hub is stopping; nothing was changed');
}
