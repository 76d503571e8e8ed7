/** Stores for the suites of task stores, each with data of its own. */
import { join } from 'node:path';
import { openPool } from '@workbench-hub/hub/store/postgres/connection/pool';
import { openPostgresStore } from '@workbench-hub/hub/store/postgres/store';
import { openSqliteStore } from '@workbench-hub/hub/store/sqlite/store';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { memoryLog } from '../support/memory-log.js';
import { migratedDatabase } from '../support/stores/postgres.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import type { StoreUnderTest } from './store-under-test.js';

/** A store on SQLite, with real files and timers. */
export async function openOnSqlite(): Promise<StoreUnderTest> {
  const folder = await temporaryFolder();
  const file = join(folder.path, 'hub.sqlite');
  const openOnce = (): StoreUnderTest => {
    const store = openSqliteStore(file, systemRuntime.timers, memoryLog().log);
    return {
      ...store,
      reopen: async () => {
        await store.close();
        return openOnce();
      },
      close: async () => {
        await store.close();
        await folder.remove();
      },
    };
  };
  return openOnce();
}

/** A store in a database of a real server. */
export async function openOnPostgres(): Promise<StoreUnderTest> {
  const database = await migratedDatabase();
  const openOnce = async (): Promise<StoreUnderTest> => {
    const { log } = memoryLog();
    const db = openPool({ url: database.url, log });
    const store = await openPostgresStore(db, {
      ...systemRuntime,
      log,
      hub: 'hub',
      incarnation: systemRuntime.newId(),
      onBroken: (why) => {
        throw why;
      },
    });
    const close = async () => {
      await store.close();
      await db.close();
    };
    return {
      ...store,
      reopen: async () => {
        await close();
        return openOnce();
      },
      close: async () => {
        await close();
        await database.drop();
      },
    };
  };
  return openOnce();
}
