/** The suites of account stores on SQLite, with a second connection to the same file. */
import { join } from 'node:path';
import { openSqliteAccountStore } from '@workbench-hub/hub/store/sqlite/accounts/account-store';
import { describe } from 'vitest';
import { memoryLog } from '../support/memory-log.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import type { AccountStoreUnderTest } from './account-store-under-test.js';
import { describeAgentCredentials } from './agent-credentials-suite.js';
import { describeAgentDrains } from './agent-drains-suite.js';
import { describePersonalTokens } from './personal-tokens-suite.js';
import { describeSessions } from './sessions-suite.js';
import { describeUsers } from './users-suite.js';

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

describe.each([
  ['users', describeUsers],
  ['sessions', describeSessions],
  ['personal tokens', describePersonalTokens],
  ['agent credentials', describeAgentCredentials],
  ['agent drains', describeAgentDrains],
])('SQLite: %s', (_, suite) => suite(open));
