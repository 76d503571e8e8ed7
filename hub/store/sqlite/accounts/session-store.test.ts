import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionStore } from '../../../core/ports/accounts.js';
import type { SqliteDatabase } from '../database.js';
import { openAccountsDatabase } from './accounts-database.js';
import { sqliteSessionStore } from './session-store.js';
import { sqliteUserStore } from './user-store.js';

const MAX_SESSIONS = 3;

let db: SqliteDatabase;
let store: SessionStore;
beforeEach(async () => {
  db = openAccountsDatabase(':memory:');
  store = sqliteSessionStore(db, null, MAX_SESSIONS);
  const user = {
    passwordHash: 'hash',
    roles: [],
    disabled: false,
    source: 'COMMAND',
    createdAtMs: 0,
  } as const;
  for (const username of ['anna', 'bert']) await sqliteUserStore(db, null).add({ ...user, username });
});
afterEach(() => db.close());

const open = (id: string, startedAtMs: number, username = 'anna') =>
  store.open(
    { id, username, startedAtMs, expiresAtMs: 1000 },
    { familyHash: `family of ${id}`, tokenHash: 'token 0' },
    'hash',
  );
const idsInForce = () => db.prepare('SELECT id FROM session ORDER BY id').pluck().all();

describe('the sessions of a user beyond the limit', () => {
  it('end with the oldest, so that each new one is in force', async () => {
    await open('of bert', 0, 'bert');
    for (let at = 1; at <= 5; at++) expect(await open(`${at}`, at)).toBe(true);
    expect(idsInForce()).toEqual(['3', '4', '5', 'of bert']);
  });

  it('end with the oldest of those that began in the same millisecond', async () => {
    for (let at = 1; at <= 5; at++) await open(`${at}`, 7);
    expect(idsInForce()).toEqual(['3', '4', '5']);
  });

  it('do not end with the new one when the clock was set back', async () => {
    for (let at = 1; at <= 3; at++) await open(`${at}`, 100 + at);
    await open('4', 50);
    expect(idsInForce()).toEqual(['2', '3', '4']);
  });
});

describe('a session that is refreshed', () => {
  const turnOver = (from: number, expiresAtMs = 2000) =>
    store.rotate('s', {
      spent: { hash: `token ${from}`, atMs: from, salt: `salt ${from}` },
      familyHash: 'family of s',
      nextHash: `token ${from + 1}`,
      expiresAtMs,
    });

  it('keeps the current token and the one spent last, in one row however often it is refreshed', async () => {
    await open('s', 1);
    for (let at = 0; at < 50; at++) expect(await turnOver(at)).toBe(true);
    expect(await store.ofFamily('family of s', 999)).toEqual({
      session: { id: 's', username: 'anna', startedAtMs: 1, expiresAtMs: 2000 },
      currentHash: 'token 50',
      spent: { hash: 'token 49', atMs: 49, salt: 'salt 49' },
    });
    expect(db.prepare('SELECT count(*) FROM session').pluck().get()).toBe(1);
  });

  it('takes no token but the current one, and nothing after its end', async () => {
    await open('s', 1);
    expect(await turnOver(1)).toBe(false);
    expect(await turnOver(0)).toBe(true);
    expect(await turnOver(0)).toBe(false);
    expect(await store.ofFamily('family of s', 999)).toMatchObject({ currentHash: 'token 1' });
    await store.end('s');
    expect(await turnOver(1)).toBe(false);
    expect(await store.ofFamily('family of s', 999)).toBeUndefined();
  });

  it('is not found when it has expired, or its user is disabled', async () => {
    await open('s', 1);
    expect(await store.ofFamily('family of s', 1000)).toBeUndefined();
    await sqliteUserStore(db, null).change('anna', { disabled: true, endSessions: false });
    expect(await store.ofFamily('family of s', 999)).toBeUndefined();
    expect(await store.sweep(1000)).toBe(1);
  });
});
