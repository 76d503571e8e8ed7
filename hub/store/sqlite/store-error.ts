import Database from 'better-sqlite3';
import { HubError } from '../../core/errors.js';

/** What a client may see of an error of the database; undefined for an error of another kind. */
export function storeError(error: unknown): HubError | undefined {
  if (!(error instanceof Database.SqliteError)) return undefined;
  return error.code === 'SQLITE_FULL'
    ? new HubError('STORAGE_FULL', 'the disk of the hub is full; nothing was changed', { cause: error })
    : new HubError('STORE_UNAVAILABLE', 'the hub cannot write its database; nothing was changed', {
        cause: error,
      });
}
