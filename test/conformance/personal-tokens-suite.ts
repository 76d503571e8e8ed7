import type { PersonalTokenRecord } from '@workbench-hub/hub/core/ports/personal-tokens';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AccountStoreUnderTest, type OpenAccountStore, userRecord } from './account-store-under-test.js';

export function describePersonalTokens(open: OpenAccountStore): void {
  let store: AccountStoreUnderTest;
  beforeEach(async () => {
    store = await open();
    for (const username of ['anna', 'bert']) await store.users.add(userRecord({ username }));
  });
  afterEach(() => store.close());

  const token = (id: string, rest: Partial<PersonalTokenRecord> = {}): PersonalTokenRecord => ({
    id,
    username: 'anna',
    name: 'nightly',
    role: 'USER',
    createdAtMs: 10,
    expiresAtMs: 1000,
    lastUsedAtMs: null,
    ...rest,
  });
  const add = (id: string, rest: Partial<PersonalTokenRecord> = {}, limit = 10) =>
    store.personalTokens.add(token(id, rest), `hash of ${id}`, limit);

  describe('a personal token', () => {
    it('is found by id and by hash, with the present roles of its user, until it expires', async () => {
      expect(await add('t')).toBe(true);
      await store.users.change('anna', { roles: ['VIEWER', 'USER'], endSessions: false });
      expect(await store.personalTokens.find('t', 999)).toEqual(token('t'));
      expect(await store.personalTokens.holder('hash of t', 999)).toEqual({
        token: token('t'),
        userRoles: ['VIEWER', 'USER'],
      });
      expect(await store.personalTokens.holder('hash of u', 999)).toBeUndefined();
      expect(await store.personalTokens.find('t', 1000)).toBeUndefined();
      expect(await store.personalTokens.holder('hash of t', 1000)).toBeUndefined();
      expect(await store.personalTokens.ofUser('anna', 1000)).toEqual([]);
    });

    it('is invalid while its user is disabled, and removed with its user', async () => {
      await add('t');
      await store.users.change('anna', { disabled: true, endSessions: true });
      expect(await store.personalTokens.holder('hash of t', 20)).toBeUndefined();
      await store.users.change('anna', { disabled: false, endSessions: false });
      expect(await store.personalTokens.holder('hash of t', 20)).toBeDefined();
      await store.users.remove('anna');
      await store.users.add(userRecord());
      expect(await store.personalTokens.find('t', 20)).toBeUndefined();
      expect(await store.personalTokens.holder('hash of t', 20)).toBeUndefined();
    });

    it('is listed for its user, latest first', async () => {
      await add('old', { createdAtMs: 1 });
      await add('new', { createdAtMs: 3 });
      await add('middle', { createdAtMs: 2 });
      await add('of bert', { username: 'bert' });
      const listed = await store.personalTokens.ofUser('anna', 20);
      expect(listed.map(({ id }) => id)).toEqual(['new', 'middle', 'old']);
    });

    it('is not added beyond the limit, which ignores expired ones', async () => {
      await add('a', { expiresAtMs: 10 });
      expect(await add('b', {}, 1)).toBe(true);
      expect(await add('c', {}, 1)).toBe(false);
      expect(await add('of bert', { username: 'bert' }, 1)).toBe(true);
      expect(await store.personalTokens.find('c', 20)).toBeUndefined();
    });

    it('is invalid after its removal', async () => {
      await add('t');
      await store.personalTokens.remove('t');
      await store.personalTokens.remove('t');
      expect(await store.personalTokens.holder('hash of t', 20)).toBeUndefined();
    });

    it('has the time of its last use', async () => {
      await add('t');
      await add('unused');
      await store.personalTokens.used(
        new Map([
          ['t', 77],
          ['removed', 78],
        ]),
      );
      expect(await store.personalTokens.find('t', 20)).toMatchObject({ lastUsedAtMs: 77 });
      expect(await store.personalTokens.find('unused', 20)).toMatchObject({ lastUsedAtMs: null });
    });

    it('is swept and counted when it has expired', async () => {
      await add('t');
      await add('later', { expiresAtMs: 1001 });
      expect(await store.personalTokens.sweep(1000)).toBe(1);
      expect(await store.personalTokens.find('later', 1000)).toBeDefined();
    });
  });
}
