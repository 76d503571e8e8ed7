/** The account ports on one SQLite file. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { OpenedAccountStore } from '../../../core/ports/store.js';
import { openAccountsDatabase } from './accounts-database.js';
import { sqliteAgentCredentials } from './agent-credentials.js';
import { sqliteAgentDrains } from './agent-drains.js';
import { sqlitePersonalTokens } from './personal-tokens.js';
import { sqliteSessionStore } from './session-store.js';
import { sqliteUserStore } from './user-store.js';

/** `:memory:` as file keeps the accounts until the process ends. `log` is null in commands, which print errors. */
export function openSqliteAccountStore(file: string, log: Logger | null): OpenedAccountStore {
  const db = openAccountsDatabase(file);
  return {
    users: sqliteUserStore(db, log),
    sessions: sqliteSessionStore(db, log),
    personalTokens: sqlitePersonalTokens(db, log),
    agentCredentials: sqliteAgentCredentials(db, log),
    agentDrains: sqliteAgentDrains(db, log),
    close: async () => void db.close(),
  };
}
