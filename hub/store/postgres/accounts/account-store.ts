/** The account ports on one PostgreSQL database. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { AccountStore } from '../../../core/ports/store.js';
import type { Database, Queries } from '../pool.js';
import { fromStored, toStored } from '../stored-text.js';
import { postgresAgentCredentials } from './agent-credentials.js';
import { postgresAgentDrains } from './agent-drains.js';
import { postgresPersonalTokens } from './personal-tokens.js';
import { postgresSessionStore } from './session-store.js';
import { postgresUserStore } from './user-store.js';

/** The database must be migrated. `log` is null in commands, which print errors. */
export function postgresAccountStore(db: Database, log: Logger | null): AccountStore {
  const database: Database = {
    ...db,
    ...withAnyText(db),
    transaction: (work, settings) => db.transaction((queries) => work(withAnyText(queries)), settings),
  };
  return {
    users: postgresUserStore(database, log),
    sessions: postgresSessionStore(database, log),
    personalTokens: postgresPersonalTokens(database, log),
    agentCredentials: postgresAgentCredentials(database, log),
    agentDrains: postgresAgentDrains(database, log),
  };
}

/** Texts may have characters that PostgreSQL does not store, such as those of a login with any name. */
function withAnyText({ rows, changed, script }: Queries): Queries {
  return {
    rows: async <Row extends object>(...[statement, values = []]: Parameters<Queries['rows']>) =>
      fromStored(await rows<Row>(statement, values.map(toStored))) as Row[],
    changed: (statement, values = []) => changed(statement, values.map(toStored)),
    script,
  };
}
