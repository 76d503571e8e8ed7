/** The suites of account stores on SQLite, with a second connection to the same file. */
import { join } from 'node:path';
import { openSqliteAccountStore } from '@workbench-hub/hub/store/sqlite/accounts/account-store';
import { memoryLog } from '../support/memory-log.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { describeAccountStore } from './account-store-suites.js';
import type { AccountStoreUnderTest } from './account-store-under-test.js';

async function open(): Promise<AccountStoreUnderTest> {
  const folder = await temporaryFolder();
  const openOnce = () => openSqliteAccountStore(join(folder.path, 'accounts.sqlite'), memoryLog().log);
  const store = openOnce();
  return {
    ...store,
    beside: async () => openOnce(),
    close: async () => {
      await store.close();
      await folder.remove();
    },
  };
}

describeAccountStore('SQLite', open);
