import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type AccountStoreUnderTest,
  type OpenAccountStore,
  openSession,
  userRecord,
} from './account-store-under-test.js';

export function describeUsers(open: OpenAccountStore): void {
  let store: AccountStoreUnderTest;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());

  describe('users', () => {
    it('are found as they were added, and listed by name', async () => {
      const bert = userRecord({ username: 'bert', roles: ['ADMIN', 'USER'], source: 'CONFIGURATION' });
      const anna = userRecord({ disabled: true, roles: [] });
      for (const user of [bert, anna]) expect(await store.users.add(user)).toBe(true);
      expect(await store.users.find('bert')).toEqual(bert);
      expect(await store.users.all()).toEqual([anna, bert]);
      expect(await store.users.find('nobody')).toBeUndefined();
      expect(await store.users.find('ANNA')).toBeUndefined();
      expect(await store.users.find('anna\0')).toBeUndefined();
    });

    it('are not replaced by another of the same name', async () => {
      await store.users.add(userRecord());
      expect(await store.users.add(userRecord({ passwordHash: 'other' }))).toBe(false);
      expect(await store.users.find('anna')).toEqual(userRecord());
    });

    it('change only in the given fields', async () => {
      await store.users.add(userRecord());
      expect(await store.users.change('anna', { roles: ['VIEWER'], endSessions: false })).toBe(true);
      expect(await store.users.find('anna')).toEqual(userRecord({ roles: ['VIEWER'] }));
      const change = { passwordHash: 'new', disabled: true, source: 'CONFIGURATION' } as const;
      await store.users.change('anna', { ...change, endSessions: false });
      expect(await store.users.find('anna')).toEqual(userRecord({ ...change, roles: ['VIEWER'] }));
      await store.users.change('anna', { disabled: false, roles: [], endSessions: false });
      expect(await store.users.find('anna')).toMatchObject({ disabled: false, roles: [] });
      expect(await store.users.change('nobody', { disabled: true, endSessions: true })).toBe(false);
      expect(await store.users.remove('nobody')).toBe(false);
    });

    it('lose their sessions with a change only on request, and always with their removal', async () => {
      for (const username of ['anna', 'bert']) await store.users.add(userRecord({ username }));
      await openSession(store);
      await openSession(store, { id: 'of bert', username: 'bert' });
      await store.users.change('anna', { roles: [], endSessions: false });
      expect(await store.sessions.holder('s', 2)).toEqual({ username: 'anna', roles: [] });
      await store.users.change('anna', { roles: [], endSessions: true });
      expect(await store.sessions.holder('s', 2)).toBeUndefined();
      expect(await store.users.remove('bert')).toBe(true);
      await store.users.add(userRecord({ username: 'bert' }));
      expect(await store.sessions.holder('of bert', 2)).toBeUndefined();
    });

    it('keep the last enabled ADMIN as it is, and no other', async () => {
      const administrator = { roles: ['VIEWER', 'ADMIN'] } as const;
      for (const username of ['anna', 'bert'])
        await store.users.add(userRecord({ username, ...administrator }));
      await store.users.add(userRecord({ username: 'carl' }));
      await store.users.add(userRecord({ username: 'dora', ...administrator, disabled: true }));
      const { users } = store;
      const disable = (username: string) =>
        users.changeUnlessLastAdministrator(username, { disabled: true, endSessions: true });
      await openSession(store);
      expect(await disable('bert')).toBe(true);
      expect(await disable('anna')).toBe(false);
      expect(await users.changeUnlessLastAdministrator('anna', { roles: ['USER'], endSessions: false })).toBe(
        false,
      );
      expect(await users.find('anna')).toEqual(userRecord(administrator));
      expect(await store.sessions.holder('s', 2)).toMatchObject({ username: 'anna' });
      expect([await disable('carl'), await disable('dora'), await disable('nobody')]).toEqual([
        true,
        true,
        false,
      ]);
    });

    it('keep one ADMIN when two disable each other at once', async () => {
      const command = await store.beside();
      try {
        for (let round = 0; round < 10; round++) {
          const names = [`anna-${round}`, `bert-${round}`];
          for (const username of names) await store.users.add(userRecord({ username, roles: ['ADMIN'] }));
          const changed = await Promise.all(
            [store, command].map(({ users }, at) =>
              users.changeUnlessLastAdministrator(names[at] ?? '', { disabled: true, endSessions: true }),
            ),
          );
          expect(changed.sort()).toEqual([false, true]);
          for (const username of names) await store.users.remove(username);
        }
      } finally {
        await command.close();
      }
    });

    it('are read by the hub as a command has changed them', async () => {
      const command = await store.beside();
      try {
        await command.users.add(userRecord());
        expect(await store.users.find('anna')).toEqual(userRecord());
        await openSession(store);
        await command.users.change('anna', { roles: ['ADMIN'], endSessions: false });
        expect(await store.sessions.holder('s', 2)).toEqual({ username: 'anna', roles: ['ADMIN'] });
        await command.users.change('anna', { disabled: true, endSessions: true });
        expect(await store.sessions.holder('s', 2)).toBeUndefined();
      } finally {
        await command.close();
      }
    });

    it('are added once when the same name is added twice at once', async () => {
      const command = await store.beside();
      try {
        const added = await Promise.all([store, command].map(({ users }) => users.add(userRecord())));
        expect(added.sort()).toEqual([false, true]);
      } finally {
        await command.close();
      }
    });
  });
}
