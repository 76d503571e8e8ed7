import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type AccountStoreUnderTest,
  type OpenAccountStore,
  openSession,
  userRecord,
} from './account-store-under-test.js';

export function describeSessions(open: OpenAccountStore): void {
  let store: AccountStoreUnderTest;
  beforeEach(async () => {
    store = await open();
    for (const username of ['anna', 'bert']) await store.users.add(userRecord({ username }));
  });
  afterEach(() => store.close());

  const rotate = (from: number, { sessions } = store) =>
    sessions.rotate('s', {
      spent: { hash: `token ${from}`, atMs: from, salt: `salt ${from}` },
      familyHash: 'family of s',
      nextHash: `token ${from + 1}`,
      expiresAtMs: 2000,
    });

  describe('a session', () => {
    it('is opened only with the verified password, by an existing and enabled user', async () => {
      expect(await openSession(store, {}, 'former hash')).toBe(false);
      expect(await openSession(store, { username: 'nobody' })).toBe(false);
      await store.users.change('anna', { disabled: true, endSessions: false });
      expect(await openSession(store)).toBe(false);
      expect(await store.sessions.ofFamily('family of s', 2)).toBeUndefined();
      await store.users.change('anna', { disabled: false, endSessions: false });
      expect(await openSession(store)).toBe(true);
    });

    it('has its user as holder, with the present roles, until it expires', async () => {
      await openSession(store);
      expect(await store.sessions.holder('s', 999)).toEqual({ username: 'anna', roles: ['USER'] });
      expect(await store.sessions.holder('s', 1000)).toBeUndefined();
      expect(await store.sessions.holder('other', 2)).toBeUndefined();
    });

    it('is counted for its user until it expires or ends', async () => {
      expect(await store.sessions.ofUsers(2)).toEqual(new Map());
      await openSession(store);
      await openSession(store, { id: 'later', startedAtMs: 7, expiresAtMs: 2000 });
      await openSession(store, { id: 'of bert', username: 'bert', startedAtMs: 3 });
      expect(await store.sessions.ofUsers(999)).toEqual(
        new Map([
          ['anna', { count: 2, latestStartedAtMs: 7 }],
          ['bert', { count: 1, latestStartedAtMs: 3 }],
        ]),
      );
      expect(await store.sessions.ofUsers(1000)).toEqual(
        new Map([['anna', { count: 1, latestStartedAtMs: 7 }]]),
      );
      await store.users.change('anna', { endSessions: true });
      expect([...(await store.sessions.ofUsers(2)).keys()]).toEqual(['bert']);
    });

    it('without a refresh token has no family', async () => {
      const session = { id: 'once', username: 'anna', startedAtMs: 1, expiresAtMs: 1000 };
      for (const id of ['once', 'twice'])
        expect(await store.sessions.open({ ...session, id }, null, 'hash')).toBe(true);
      expect(await store.sessions.holder('twice', 2)).toMatchObject({ username: 'anna' });
      expect(await store.sessions.ofFamily('', 2)).toBeUndefined();
    });

    it('keeps the current token and the last used one, however often it is refreshed', async () => {
      await openSession(store);
      expect(await store.sessions.ofFamily('family of s', 2)).toMatchObject({
        currentHash: 'token 0',
        spent: null,
      });
      for (let at = 0; at < 20; at++) expect(await rotate(at)).toBe(true);
      expect(await store.sessions.ofFamily('family of s', 1999)).toEqual({
        session: { id: 's', username: 'anna', startedAtMs: 1, expiresAtMs: 2000 },
        currentHash: 'token 20',
        spent: { hash: 'token 19', atMs: 19, salt: 'salt 19' },
      });
    });

    it('accepts only the current token, and none after its end', async () => {
      await openSession(store);
      expect(await rotate(1)).toBe(false);
      expect(await rotate(0)).toBe(true);
      expect(await rotate(0)).toBe(false);
      expect(await store.sessions.ofFamily('family of s', 999)).toMatchObject({ currentHash: 'token 1' });
      await store.sessions.end('s');
      await store.sessions.end('s');
      expect(await rotate(1)).toBe(false);
      expect(await store.sessions.ofFamily('family of s', 999)).toBeUndefined();
    });

    it('is refreshed once when its token is presented twice at once', async () => {
      await openSession(store);
      const command = await store.beside();
      try {
        const rotated = await Promise.all([rotate(0), rotate(0, { ...store, ...command })]);
        expect(rotated.sort()).toEqual([false, true]);
      } finally {
        await command.close();
      }
    });

    it('is not found by its family when it has expired, or its user is disabled', async () => {
      await openSession(store);
      expect(await store.sessions.ofFamily('family of s', 1000)).toBeUndefined();
      await store.users.change('anna', { disabled: true, endSessions: false });
      expect(await store.sessions.ofFamily('family of s', 999)).toBeUndefined();
      expect(await store.sessions.holder('s', 999)).toBeUndefined();
    });

    it('is swept and counted when it has expired', async () => {
      await openSession(store);
      await openSession(store, { id: 'later', expiresAtMs: 1001 });
      expect(await store.sessions.sweep(999)).toBe(0);
      expect(await store.sessions.sweep(1000)).toBe(1);
      expect(await store.sessions.holder('later', 1000)).toBeDefined();
    });
  });
}
