/** Changes of accounts over connections that are cut around their commits: each takes place, and says so. */
import type { AccountStore } from '@workbench-hub/hub/core/ports/store';
import { Sessions } from '@workbench-hub/hub/engine/accounts/sessions';
import { secrets } from '@workbench-hub/hub/security/secrets';
import { postgresAccountStore } from '@workbench-hub/hub/store/postgres/accounts/account-store';
import { postgresLoginRecords } from '@workbench-hub/hub/store/postgres/accounts/login-records';
import { openPool } from '@workbench-hub/hub/store/postgres/connection/pool';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterEach, describe, expect, it } from 'vitest';
import { memoryLog } from '../support/memory-log.js';
import { seededRandom } from '../support/random.js';
import { hasPostgres, migratedDatabase } from '../support/stores/postgres.js';
import { CUTS, type Cut, type Cuttable, startStatementCutter } from '../support/stores/statement-cutter.js';
import { openSession, userRecord } from './account-store-under-test.js';

const USERS = 30;
const AT_ONCE = 3;
const DRAIN = { agentId: 'agent-1', sinceMs: 7, by: 'root' };
const ROOT = userRecord({ username: 'root', roles: ['ADMIN'] });
const BEA = userRecord({ username: 'bea', roles: ['ADMIN'] });
const DEMOTED = { roles: ['USER' as const], endSessions: false };

const token = (id: string, username = 'anna') => ({
  ...{ id, username, name: 'ci', role: 'USER' as const },
  ...{ createdAtMs: 1, expiresAtMs: 1000, lastUsedAtMs: null },
});

/** Clock by which repeating is never over: a busy machine takes its time. */
const STILL = { ...systemRuntime.clock, monotonicMs: () => 0 };

/** A change, what of it is cut, and what it resolves with. */
type Change = readonly [title: string, what: Cuttable, change: () => Promise<unknown>, result: unknown];

function additions(store: AccountStore): readonly Change[] {
  const { users, sessions, personalTokens, agentCredentials, agentDrains } = store;
  return [
    ['adds a user', 'COMMIT', () => users.add(userRecord()), true],
    ['adds an administrator', 'COMMIT', () => users.add(ROOT), true],
    ['adds another administrator', 'COMMIT', () => users.add(BEA), true],
    ['refuses a name that is taken', 'COMMIT', () => users.add({ ...ROOT, passwordHash: 'x' }), false],
    ['takes a role away', 'COMMIT', () => users.changeUnlessLastAdministrator('bea', DEMOTED), true],
    ['leaves it to the last', 'COMMIT', () => users.changeUnlessLastAdministrator('root', DEMOTED), false],
    ['opens a session', 'COMMIT', () => openSession(store), true],
    ['opens another one', 'COMMIT', () => openSession(store, { id: 't' }), true],
    ['opens none without the password', 'COMMIT', () => openSession(store, { id: 'u' }, 'wrong'), false],
    ['ends a session', 'STATEMENT', () => sessions.end('t'), undefined],
    ['adds a token', 'COMMIT', () => personalTokens.add(token('a'), 'hash of a', 1), true],
    ['refuses one too many', 'COMMIT', () => personalTokens.add(token('b'), 'hash of b', 1), false],
    ['notes its use', 'STATEMENT', () => personalTokens.used(new Map([['a', 9]])), undefined],
    ['drains an agent', 'COMMIT', () => agentDrains.drain(DRAIN), true],
    ['drains it once', 'COMMIT', () => agentDrains.drain({ ...DRAIN, by: 'bea' }), false],
    ['puts a code', 'COMMIT', () => agentCredentials.putCode('agent-1', 'code', 100), undefined],
    ['exchanges it', 'STATEMENT', () => agentCredentials.exchange('agent-1', 'code', 'secret', 9), true],
    ['exchanges it once', 'STATEMENT', () => agentCredentials.exchange('agent-1', 'code', 'x', 10), false],
    ['notes a join', 'STATEMENT', () => agentCredentials.joined('agent-1', 12), undefined],
    ['sets a password', 'COMMIT', () => users.change('root', { passwordHash: 'n', endSessions: true }), true],
  ];
}

function removals({ users, personalTokens, agentCredentials, agentDrains }: AccountStore): readonly Change[] {
  return [
    ['removes a token', 'STATEMENT', () => personalTokens.remove('a'), undefined],
    ['undrains an agent', 'COMMIT', () => agentDrains.undrain('agent-1'), true],
    ['undrains it once', 'COMMIT', () => agentDrains.undrain('agent-1'), false],
    ['revokes its credential', 'COMMIT', () => agentCredentials.revoke('agent-1', 20), true],
    ['revokes it once', 'COMMIT', () => agentCredentials.revoke('agent-1', 21), false],
    ['removes a user', 'COMMIT', () => users.remove('anna'), true],
    ['removes it once', 'COMMIT', () => users.remove('anna'), false],
  ];
}

describe.skipIf(!hasPostgres)('accounts whose connections are cut around commits', () => {
  const closing: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  async function openCut(choose: (what: Cuttable) => Cut | undefined, clock = STILL) {
    const database = await migratedDatabase();
    closing.push(() => database.drop());
    const cutter = await startStatementCutter(database.server.port, choose);
    closing.push(() => cutter.close());
    const { log } = memoryLog();
    const pool = openPool({ url: cutter.through(database.url), log });
    closing.push(() => pool.close());
    const runtime = { ...systemRuntime, clock, log };
    const [store, records] = [postgresAccountStore(pool, runtime), postgresLoginRecords(pool, runtime)];
    return { store, records, database, cutter };
  }

  /** Opens accounts of which only what is planned is cut. */
  async function openPlanned(clock = STILL) {
    const planned: [Cuttable, Cut][] = [];
    const opened = await openCut(
      (what) => (planned[0]?.[0] === what ? planned.shift()?.[1] : undefined),
      clock,
    );
    return { ...opened, planned };
  }

  it.each(CUTS)('change once, and say so, when each is cut %s', async (cut) => {
    const { store, cutter, database, planned } = await openPlanned();
    const perform = async (changes: readonly Change[]) => {
      for (const [title, what, change, result] of changes) {
        planned.push([what, cut]);
        expect(await change(), title).toBe(result);
        expect(planned, `${title}: the cut`).toEqual([]);
      }
    };
    await perform(additions(store));
    const demoted = userRecord({ username: 'bea', roles: ['USER'] });
    expect(await store.users.all()).toEqual([userRecord(), demoted, { ...ROOT, passwordHash: 'n' }]);
    expect(await database.query('SELECT id FROM session')).toEqual([{ id: 's' }]);
    expect(await store.personalTokens.ofUser('anna', 1)).toEqual([{ ...token('a'), lastUsedAtMs: 9 }]);
    expect(await store.agentDrains.all()).toEqual([DRAIN]);
    expect(await store.agentCredentials.all()).toMatchObject([
      { credentialHash: 'secret', codeSpentAtMs: 9, joinedAtMs: 12, revokedAtMs: null },
    ]);
    await perform(removals(store));
    expect(await database.query('SELECT id FROM session')).toEqual([]);
    expect(await store.personalTokens.ofUser('anna', 1)).toEqual([]);
    expect(await store.agentDrains.all()).toEqual([]);
    expect(await store.agentCredentials.find('agent-1')).toMatchObject({ revokedAtMs: 20 });
    expect(cutter.cuts[cut]).toBe(additions(store).length + removals(store).length);
  });

  it.each(CUTS)('give one refresh token for another that works when the exchange is cut %s', async (cut) => {
    const { store, planned } = await openPlanned();
    await store.users.add(userRecord());
    const sessions = new Sessions({
      store: store.sessions,
      passwords: { check: async () => userRecord() },
      tokens: { issue: async () => 'access', isOwn: () => true, verify: async () => undefined },
      secrets,
      clock: systemRuntime.clock,
      newId: systemRuntime.newId,
      accessTokenLifetimeMs: 60_000,
      refreshTokenLifetimeMs: 60_000,
    });
    const first = await sessions.logIn('anna', 'password', { address: '', client: { aborted: false } });
    let isRead = false;
    const { rotate } = store.sessions;
    store.sessions.rotate = (...rotation) => {
      if (!isRead) planned.push(['STATEMENT', cut]);
      isRead = true;
      return rotate(...rotation);
    };
    const second = await sessions.refresh(first.refreshToken, () => undefined);
    expect([isRead, planned]).toEqual([true, []]);
    expect(second.refreshToken).not.toBe(first.refreshToken);
    const third = await sessions.refresh(second.refreshToken, () => undefined);
    expect(third.refreshToken).not.toBe(second.refreshToken);
  });

  it.each(CUTS)('count and forget attempts to log in when they are cut %s', async (cut) => {
    const { records, planned } = await openPlanned();
    planned.push(['STATEMENT', cut]);
    expect(await records.begin('key')).toBe(0);
    planned.push(['STATEMENT', cut]);
    await records.succeeded('anna', 'here', ['key']);
    expect(planned).toEqual([]);
    expect(await records.isKnown('anna', 'here')).toBe(true);
    expect(await records.delayMs('key')).toBe(0);
  });

  it.each([1, 2])('change once beside each other under cuts by chance (seed %d)', async (seed) => {
    const random = seededRandom(seed);
    let isCutting = false;
    const { store, database, cutter } = await openCut(() =>
      isCutting && random.oneIn(5) ? random.of(CUTS) : undefined,
    );
    const next = Array.from({ length: USERS }, (_, at) => `user-${at}`);
    const live = async (username: string) => {
      const session = { id: `session of ${username}`, username };
      expect(await store.users.add(userRecord({ username }))).toBe(true);
      expect(await openSession(store, session)).toBe(true);
      expect(await store.personalTokens.add(token(`token of ${username}`, username), username, 1)).toBe(true);
      expect(await store.users.change(username, { passwordHash: 'new', endSessions: true })).toBe(true);
      expect(await openSession(store, session)).toBe(false);
      expect(await openSession(store, session, 'new')).toBe(true);
    };
    const liveInTurn = async () => {
      for (let username = next.shift(); username !== undefined; username = next.shift()) await live(username);
    };
    isCutting = true;
    await Promise.all(Array.from({ length: AT_ONCE }, liveInTurn));
    isCutting = false;
    for (const cut of CUTS) expect(cutter.cuts[cut], cut).toBeGreaterThan(5);
    const count = async (table: string) =>
      (await database.query(`SELECT count(*)::integer AS n FROM ${table}`))[0];
    for (const table of ['hub_user', 'session', 'personal_token'])
      expect(await count(table), table).toEqual({ n: USERS });
  });

  describe('are refused when the time for repeating is over', () => {
    /** Clock by which every try is the last. */
    const lateClock = () => {
      let nowMs = 0;
      return {
        ...systemRuntime.clock,
        monotonicMs: () => {
          nowMs += 60_000;
          return nowMs;
        },
      };
    };

    it('with the words that the outcome of a commit is not known', async () => {
      const { store, planned } = await openPlanned(lateClock());
      planned.push(['COMMIT', 'AFTER']);
      await expect(store.users.add(userRecord())).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: 'the hub cannot use its database; whether anything was changed is not known',
      });
      expect(await store.users.all()).toEqual([userRecord()]);
    });

    it('with the words that nothing was changed before a commit, and by a read', async () => {
      const { store, planned } = await openPlanned(lateClock());
      const refusal = {
        code: 'STORE_UNAVAILABLE',
        message: 'the hub cannot use its database; nothing was changed',
      };
      planned.push(['STATEMENT', 'AFTER']);
      await expect(store.users.add(userRecord())).rejects.toMatchObject(refusal);
      planned.push(['STATEMENT', 'AFTER']);
      await expect(store.users.all()).rejects.toMatchObject(refusal);
      expect(await store.users.all()).toEqual([]);
    });
  });
});
