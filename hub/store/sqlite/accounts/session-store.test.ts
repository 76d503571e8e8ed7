import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionStore } from '../../../core/ports/accounts.js';
import type { SqliteDatabase } from '../connection/database.js';
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
  it('end with the oldest, so that each new one is valid', async () => {
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
