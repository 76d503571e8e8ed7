/** The account ports on one PostgreSQL database. */
import type { AccountStore } from '../../../core/ports/store.js';
import type { Database, Queries } from '../connection/pool.js';
import { fromStored, toStored } from '../connection/stored-text.js';
import { type AccountRuntime, AccountWork } from './account-work.js';
import { postgresAgentCredentials } from './agent-credentials.js';
import { postgresAgentDrains } from './agent-drains.js';
import { postgresPersonalTokens } from './personal-tokens.js';
import { postgresSessionStore } from './session-store.js';
import { postgresUserStore } from './user-store.js';

/** The database must be migrated. */
export function postgresAccountStore(db: Database, runtime: AccountRuntime): AccountStore {
  const work = new AccountWork(runtime);
  const database: Database = {
    ...db,
    ...withAnyText(db),
    transaction: (steps, settings) => db.transaction((queries) => steps(withAnyText(queries)), settings),
  };
  return {
    users: postgresUserStore(database, work),
    sessions: postgresSessionStore(database, work),
    personalTokens: postgresPersonalTokens(database, work),
    agentCredentials: postgresAgentCredentials(database, work),
    agentDrains: postgresAgentDrains(database, work),
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
