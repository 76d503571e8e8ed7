/** The database of users, sessions, tokens and credentials. The hub and its commands open it at the same time, and wait for
 *  each other's transactions. */
import { chmodSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { PRIVATE_FOLDER_MODE } from '@workbench-hub/shared/runtime/private-files';
import Database from 'better-sqlite3';
import { makePrivateFile, migrate, refusal, type SqliteDatabase } from '../connection/database.js';
import { agentCredentials } from './migrations/0001-agent-credentials.js';
import { usersAndSessions } from './migrations/0002-users-and-sessions.js';
import { personalTokens } from './migrations/0003-personal-tokens.js';
import { refreshTokenFamilies } from './migrations/0004-refresh-token-families.js';
import { agentDrains } from './migrations/0005-agent-drains.js';

/** In order; a released migration never changes. */
export const ACCOUNTS_MIGRATIONS: readonly string[] = [
  agentCredentials,
  usersAndSessions,
  personalTokens,
  refreshTokenFamilies,
  agentDrains,
];

/** Maximum wait for the transaction of another process. */
const BUSY_TIMEOUT_MS = 5000;

/** The schema version that this build writes. */
export function accountsSchemaVersion(): number {
  return ACCOUNTS_MIGRATIONS.length;
}

/** Opens or creates the database, accessible to this user only; `:memory:` ends with the process. */
export function openAccountsDatabase(file: string): SqliteDatabase {
  mkdirSync(dirname(file), { recursive: true, mode: PRIVATE_FOLDER_MODE });
  let db: SqliteDatabase | undefined;
  try {
    makePrivateFile(file);
    db = new Database(file, { timeout: BUSY_TIMEOUT_MS });
    if (file !== ':memory:') chmodSync(file, 0o600);
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = FULL');
    db.pragma('foreign_keys = ON');
    migrate(db, file, ACCOUNTS_MIGRATIONS);
    return db;
  } catch (error) {
    db?.close();
    throw refusal(error, file);
  }
}
