/** Lifetime of sessions: their expiry, the repetition of used tokens, and restarts of the hub (contract 8.2 to 8.5). */
import { join } from 'node:path';
import { secrets } from '@workbench-hub/hub/security/secrets';
import { openAccountsDatabase } from '@workbench-hub/hub/store/sqlite/accounts/accounts-database';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { describe, expect, it, onTestFinished } from 'vitest';
import { HandDrivenRuntime } from '../support/engine/hand-driven-runtime.js';
import { ownHub } from '../support/hubs/hub-for-tests.js';
import { HUBS } from '../support/hubs/hubs-under-test.js';
import { AUTH, loggedInBy, logIn, logOut, refresh, statusFor } from '../support/hubs/login.js';
import { type HubSetup, startHub, USERS } from '../support/hubs/running-hub.js';
import { Api, expectError } from '../support/interface/api.js';
import { TESTED_STORE } from '../support/stores/tested-store.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const NOT_VALID = 'the cookie refreshToken names no active session: log in at /api/2.0/auth/login';
const USED_BEFORE = /^this refresh token has been used before, so somebody else may hold it/;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

describe('the lifetime of a session', () => {
  async function hubWithTime(setup: HubSetup = {}) {
    const time = new HandDrivenRuntime();
    const runtime = { ...systemRuntime, clock: time.clock };
    return { time, ...(await ownHub({ users: USERS, ...setup, runtime })) };
  }

  it('outlasts its access tokens, which end after security.accessTokenLifetime', async () => {
    const { time, api: own } = await hubWithTime({ config: { security: { accessTokenLifetime: '5m' } } });
    const { accessToken, cookie } = await logIn(own, 'ulla');
    time.skip(5 * MINUTE_MS - 1);
    expect(await statusFor(own, accessToken)).toBe(200);
    time.skip(1);
    const refused = await own.as(accessToken).get(AUTH.USER);
    expectError(refused, 401, AUTH.USER, /^the access token is not valid, or has expired: refresh it/);
    const renewed = loggedInBy(await refresh(own, cookie));
    expect(await statusFor(own, renewed.accessToken)).toBe(200);
  });

  it('allows a used token again for 15 seconds, and ends with a later use', async () => {
    const { time, api: own } = await hubWithTime();
    const { cookie } = await logIn(own, 'ulla');
    const renewed = loggedInBy(await refresh(own, cookie));
    time.skip(15_000);
    const repeated = loggedInBy(await refresh(own, cookie));
    expect(repeated.cookie).toBe(renewed.cookie);
    // A repetition does not restart the 15 seconds.
    time.skip(1);
    expectError(await refresh(own, cookie), 401, AUTH.REFRESH, USED_BEFORE);
    for (const { accessToken } of [renewed, repeated]) expect(await statusFor(own, accessToken)).toBe(401);
    expectError(await refresh(own, renewed.cookie), 401, AUTH.REFRESH, NOT_VALID);
  });

  it('does not extend those 15 seconds when the clock is set back', async () => {
    const { time, api: own } = await hubWithTime();
    const { cookie } = await logIn(own, 'ulla');
    loggedInBy(await refresh(own, cookie));
    time.skip(-60 * MINUTE_MS);
    expectError(await refresh(own, cookie), 401, AUTH.REFRESH, USED_BEFORE);
  });

  // The limit protects a single hub.
  if (HUBS === 1) {
    it('is not ended by the limit of refreshes', async () => {
      const { time, api: own } = await hubWithTime();
      let { cookie, accessToken } = await logIn(own, 'ulla');
      const other = await logIn(own, 'ulla');
      for (let at = 0; at < 100; at++) ({ cookie, accessToken } = loggedInBy(await refresh(own, cookie)));
      for (let at = 0; at < 3; at++) {
        const refused = await refresh(own, cookie);
        expectError(refused, 429, AUTH.REFRESH, /^the session is refreshed too often: .* try again in 1 s$/);
        expect(refused.headers.get('retry-after')).toBe('1');
      }
      expect(await statusFor(own, accessToken)).toBe(200);
      expect((await refresh(own, other.cookie)).status).toBe(200);
      time.skip(1000);
      expect((await refresh(own, cookie)).status).toBe(200);
    });
  }

  it('ends security.refreshTokenLifetime after the last refresh', async () => {
    const { time, api: own } = await hubWithTime({ config: { security: { refreshTokenLifetime: '10d' } } });
    let { cookie } = await logIn(own, 'ulla');
    for (let at = 0; at < 3; at++) {
      time.skip(10 * DAY_MS - 1);
      ({ cookie } = loggedInBy(await refresh(own, cookie)));
    }
    time.skip(10 * DAY_MS);
    expectError(await refresh(own, cookie), 401, AUTH.REFRESH, NOT_VALID);
  });

  it('ends with the access token in 1.0, which has no refresh', async () => {
    const { time, api: own } = await hubWithTime();
    const { body } = await own.post('/api/1.0/auth/login', {
      username: 'ulla',
      password: 'the password of ulla',
    });
    const accessToken = body['accessToken'] as string;
    time.skip(15 * MINUTE_MS - 1);
    expect(await statusFor(own, accessToken)).toBe(200);
    time.skip(1);
    expect(await statusFor(own, accessToken)).toBe(401);
  });
});

// A database on PostgreSQL was never without families.
if (TESTED_STORE === 'sqlite') {
  it('a session from before refresh tokens had families continues with its cookie', async () => {
    const folder = await temporaryFolder();
    onTestFinished(folder.remove);
    const setup = { users: USERS, dataDir: join(folder.path, 'data') };
    await (await startHub(setup)).stop();
    const token = 'x'.repeat(43);
    const db = openAccountsDatabase(join(setup.dataDir, 'accounts.sqlite'));
    const hash = secrets.hashOf(token);
    db.prepare('INSERT INTO session VALUES (?, ?, 0, ?, ?, ?, NULL, NULL, NULL)').run(
      ...['old', 'ulla', Date.now() + DAY_MS, hash, hash],
    );
    db.close();

    const { api: own } = await ownHub(setup);
    const renewed = loggedInBy(await refresh(own, `refreshToken=${token}`));
    expect(loggedInBy(await refresh(own, `refreshToken=${token}`)).cookie).toBe(renewed.cookie);
    expect((await refresh(own, renewed.cookie)).status).toBe(200);
    expectError(await refresh(own, `refreshToken=${token}`), 401, AUTH.REFRESH, USED_BEFORE);
  });
}

describe('a restart of the hub', () => {
  it('ends no session, and restores no ended one', async () => {
    const folder = await temporaryFolder();
    onTestFinished(folder.remove);
    const setup = { users: USERS, dataDir: join(folder.path, 'data') };
    const first = await startHub(setup);
    const before = new Api(first);
    const ended = await logIn(before, 'ulla');
    const kept = await logIn(before, 'ulla');
    const renewed = loggedInBy(await refresh(before, kept.cookie));
    expect((await logOut(before, ended.cookie)).status).toBe(200);
    await first.stop();

    const { api: after } = await ownHub(setup);
    expect(await statusFor(after, ended.accessToken)).toBe(401);
    expect((await refresh(after, ended.cookie)).status).toBe(401);
    expect(await statusFor(after, kept.accessToken)).toBe(200);
    // The answer to the refresh before may have been lost in the restart.
    expect(loggedInBy(await refresh(after, kept.cookie)).cookie).toBe(renewed.cookie);
    expect((await refresh(after, renewed.cookie)).status).toBe(200);
    expectError(await refresh(after, kept.cookie), 401, AUTH.REFRESH, USED_BEFORE);
  });
});
