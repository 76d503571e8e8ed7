/** All suites of account stores, in one list, so that each store passes every one of them. */
import { describe } from 'vitest';
import type { OpenAccountStore } from './account-store-under-test.js';
import { describeAgentCredentials } from './agent-credentials-suite.js';
import { describeAgentDrains } from './agent-drains-suite.js';
import { describePersonalTokens } from './personal-tokens-suite.js';
import { describeSessions } from './sessions-suite.js';
import { describeUsers } from './users-suite.js';

/** `name` is that of the store. */
export function describeAccountStore(name: string, open: OpenAccountStore): void {
  describe.each([
    ['users', describeUsers],
    ['sessions', describeSessions],
    ['personal tokens', describePersonalTokens],
    ['agent credentials', describeAgentCredentials],
    ['agent drains', describeAgentDrains],
  ])(`${name}: %s`, (_, suite) => suite(open));
}
