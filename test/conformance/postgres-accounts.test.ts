/** The suites of account stores on PostgreSQL, with a second pool on the same database. */
import { postgresAccountStore } from '@workbench-hub/hub/store/postgres/accounts/account-store';
import { openPool } from '@workbench-hub/hub/store/postgres/connection/pool';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { describe } from 'vitest';
import { memoryLog } from '../support/memory-log.js';
import { hasPostgres, migratedDatabase } from '../support/stores/postgres.js';
import { describeAccountStore } from './account-store-suites.js';
import type { AccountStoreUnderTest } from './account-store-under-test.js';

async function open(): Promise<AccountStoreUnderTest> {
  const database = await migratedDatabase();
  const openOnce = () => {
    const { log } = memoryLog();
    const pool = openPool({ url: database.url, log });
    return { ...postgresAccountStore(pool, { ...systemRuntime, log }), close: () => pool.close() };
  };
  const store = openOnce();
  return {
    ...store,
    beside: async () => openOnce(),
    close: async () => {
      await store.close();
      await database.drop();
    },
  };
}

describe.skipIf(!hasPostgres)('on a server', () => describeAccountStore('PostgreSQL', open));
