/** Sessions: continued by refresh tokens that are valid for one use, ended by a logout or expiry (contract 8.2 to 8.5). */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { secrets } from '@workbench-hub/hub/security/secrets';
import { openAccountsDatabase } from '@workbench-hub/hub/store/sqlite/accounts/accounts-database';
import { sqliteUserStore } from '@workbench-hub/hub/store/sqlite/accounts/user-store';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Api, expectError } from '../support/api.js';
import { HandDrivenRuntime } from '../support/hand-driven-runtime.js';
import { api, hubForAllTests } from '../support/hub-for-tests.js';
import { AUTH, loggedInBy, logIn, logOut, refresh, statusFor } from '../support/login.js';
import { type HubSetup, passwordOf, quickPasswords, startHub, USERS } from '../support/running-hub.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const WRONG = 'the username or the password is wrong, or the user is disabled';
const NO_COOKIE = 'the cookie refreshToken is required: log in at /api/2.0/auth/login';
const NOT_VALID = 'the cookie refreshToken names no active session: log in at /api/2.0/auth/login';
const USED_BEFORE = /^this refresh token has been used before, so somebody else may hold it/;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

const ENDED = 'the session of this access token has ended: log in again';

hubForAllTests({ users: USERS });

/** A hub of its own for one test. */
async function ownHub(setup: HubSetup = {}) {
  const own = await startHub({ users: USERS, ...setup });
  onTestFinished(own.stop);
  return { hub: own, api: new Api(own) };
}

describe('a login', () => {
  it.each([
    ['whose password is changed', { passwordHash: 'another' }],
    ['who is disabled', { disabled: true }],
    ['who is removed', undefined],
  ])('starts no session for a user %s during the password check', async (_, change) => {
    const folder = await temporaryFolder();
    onTestFinished(folder.remove);
    // As a command of the operator does it, beside the running hub.
    const changeUser = async () => {
      const accounts = openAccountsDatabase(join(folder.path, 'accounts.sqlite'));
      const users = sqliteUserStore(accounts, null);
      if (change) await users.change('ulla', { ...change, endSessions: true });
      else await users.remove('ulla');
      accounts.close();
    };
    const passwords = {
      ...quickPasswords,
      verify: async (password: string, hash: string) => {
        const fits = await quickPasswords.verify(password, hash);
        await changeUser();
        return fits;
      },
    };
    const own = await ownHub({ dataDir: folder.path, passwords });
    const login = { username: 'ulla', password: passwordOf('ulla') };
    const answer = await own.api.post('/api/2.0/auth/login', login);
    expectError(answer, 401, '/api/2.0/auth/login', WRONG);
    expect(answer.headers.getSetCookie()).toEqual([]);
  });
});

describe('a refresh', () => {
  it('returns a new access token and a new cookie, and the previous access token stays valid', async () => {
    const first = await logIn(api, 'ulla');
    const second = loggedInBy(await refresh(api, first.cookie));
    expect(second.cookie).not.toBe(first.cookie);
    const third = loggedInBy(await refresh(api, second.cookie));
    for (const { accessToken } of [first, second, third]) expect(await statusFor(api, accessToken)).toBe(200);
  });

  it('needs no access token', async () => {
    const { cookie } = await logIn(api, 'ulla');
    expect((await refresh(api.as('rubbish'), cookie)).status).toBe(200);
  });

  it('returns a unique access token, also within one second', async () => {
    let { cookie, accessToken } = await logIn(api, 'ulla');
    const seen = [accessToken];
    for (let at = 0; at < 5; at++) {
      ({ cookie, accessToken } = loggedInBy(await refresh(api, cookie)));
      seen.push(accessToken);
      seen.push(loggedInBy(await refresh(api, cookie)).accessToken);
    }
    expect(new Set(seen).size).toBe(seen.length);
  });

  it('requested several times at once continues the same session', async () => {
    const { cookie } = await logIn(api, 'ulla');
    const answers = await Promise.all(Array.from({ length: 20 }, () => refresh(api, cookie)));
    const admitted = answers.map(loggedInBy);
    expect(new Set(admitted.map((each) => each.cookie)).size).toBe(1);
    expect(new Set(admitted.map((each) => each.accessToken)).size).toBe(20);
    for (const { accessToken } of admitted) expect(await statusFor(api, accessToken)).toBe(200);
    expect((await refresh(api, admitted[0]?.cookie ?? '')).status).toBe(200);
  });

  it('whose responses are lost repeatedly keeps the session', async () => {
    let { cookie } = await logIn(api, 'ulla');
    for (let reload = 0; reload < 50; reload++) {
      const renewed = loggedInBy(await refresh(api, cookie));
      // Two of three answers never reach the browser.
      if (reload % 3 === 0) cookie = renewed.cookie;
    }
    expect((await refresh(api, cookie)).status).toBe(200);
  });

  it('with a token older than the last used one ends the session, for thief and owner', async () => {
    const owner = await logIn(api, 'ulla');
    const other = await logIn(api, 'ulla');
    const thief = loggedInBy(await refresh(api, owner.cookie));
    const further = loggedInBy(await refresh(api, thief.cookie));
    expectError(await refresh(api, owner.cookie), 401, AUTH.REFRESH, USED_BEFORE);
    for (const { accessToken, cookie } of [owner, thief, further]) {
      expectError(await api.as(accessToken).get(AUTH.USER), 401, AUTH.USER, ENDED);
      expectError(await refresh(api, cookie), 401, AUTH.REFRESH, NOT_VALID);
      expectError(await logOut(api, cookie), 401, AUTH.LOGOUT, NOT_VALID);
    }
    expect(await statusFor(api, other.accessToken)).toBe(200);
    expect((await refresh(api, other.cookie)).status).toBe(200);
  });

  it('with a made-up token of the same family ends the session', async () => {
    const { cookie, accessToken } = await logIn(api, 'ulla');
    const madeUp = `${cookie.slice(0, -1)}${cookie.endsWith('A') ? 'B' : 'A'}`;
    expectError(await refresh(api, madeUp), 401, AUTH.REFRESH, USED_BEFORE);
    expect(await statusFor(api, accessToken)).toBe(401);
  });
});

describe('a logout', () => {
  it('ends its session at once and clears the cookie', async () => {
    const { accessToken, cookie } = await logIn(api, 'ulla');
    const renewed = loggedInBy(await refresh(api, cookie));
    const answer = await logOut(api, renewed.cookie);
    expect([answer.status, answer.text]).toEqual([200, '']);
    expect(answer.headers.getSetCookie()).toEqual([
      'refreshToken=; Max-Age=0; Path=/api/2.0/auth; HttpOnly; SameSite=Strict',
    ]);
    for (const token of [accessToken, renewed.accessToken]) {
      expectError(await api.as(token).get(AUTH.USER), 401, AUTH.USER, ENDED);
    }
    expectError(await refresh(api, renewed.cookie), 401, AUTH.REFRESH, NOT_VALID);
    expectError(await logOut(api, renewed.cookie), 401, AUTH.LOGOUT, NOT_VALID);
  });

  it('leaves the other sessions of the user alone', async () => {
    const [one, other] = [await logIn(api, 'ulla'), await logIn(api, 'ulla')];
    expect((await logOut(api, one.cookie)).status).toBe(200);
    expect(await statusFor(api, other.accessToken)).toBe(200);
  });

  it('with a used token is refused, and ends the session nevertheless', async () => {
    const { cookie } = await logIn(api, 'ulla');
    const renewed = loggedInBy(await refresh(api, cookie));
    expectError(await logOut(api, cookie), 401, AUTH.LOGOUT, USED_BEFORE);
    expect(await statusFor(api, renewed.accessToken)).toBe(401);
  });
});

describe.each([
  ['refresh', AUTH.REFRESH],
  ['logout', AUTH.LOGOUT],
])('%s', (_, path) => {
  it.each([
    ['no cookie', '', NO_COOKIE],
    ['an empty one', 'refreshToken=', NO_COOKIE],
    ['one of another name', 'refreshtoken=x', NO_COOKIE],
    ['one that nobody was given', `refreshToken=${'A'.repeat(43)}`, NOT_VALID],
    ['a short one', 'refreshToken=x', NOT_VALID],
    ['a very long one', `refreshToken=${'A'.repeat(8000)}`, NOT_VALID],
    ['one with curious letters', 'refreshToken=%00%F0%9F%94%A7', NOT_VALID],
  ])('is refused with %s', async (_case, cookie, message) => {
    const answer = await api.call('GET', path, cookie === '' ? {} : { headers: { cookie } });
    expectError(answer, 401, path, message);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
  });

  it('is refused with the stored hash of the token, and with an access token', async () => {
    const { accessToken } = await logIn(api, 'ulla');
    for (const value of [accessToken, accessToken.slice(0, 43)]) {
      const answer = await api.call('GET', path, { headers: { cookie: `refreshToken=${value}` } });
      expect(answer.status).toBe(401);
    }
  });
});

describe('the cookie of a session', () => {
  const setCookie = async (address: Api, headers: Record<string, string> = {}) => {
    const json = { username: 'ulla', password: 'the password of ulla' };
    const answer = await address.call('POST', AUTH.LOGIN, { json, headers });
    return answer.headers.getSetCookie()[0];
  };

  it('is Secure when clients reach the hub by https', async () => {
    const { api: own } = await ownHub({ config: { server: { publicUrl: 'https://hub.example.com' } } });
    expect(await setCookie(own)).toMatch(/; HttpOnly; Secure; SameSite=Strict$/);
  });

  it('is Secure when a trusted proxy reports https, and not when a client does', async () => {
    const forwarded = { 'x-forwarded-proto': 'https' };
    expect(await setCookie(api, forwarded)).not.toMatch(/Secure/);
    const { api: own } = await ownHub({ config: { server: { trustedProxies: ['loopback'] } } });
    expect(await setCookie(own, forwarded)).toMatch(/; Secure/);
    expect(await setCookie(own)).not.toMatch(/; Secure/);
  });

  it('has no value that the hub stores in plain', async () => {
    const { hub: own, api: ownApi } = await ownHub();
    const { cookie, accessToken } = await logIn(ownApi, 'ulla');
    const token = cookie.split('=')[1] ?? '';
    expect(token).toHaveLength(43);
    const pieces = ['accounts.sqlite', 'accounts.sqlite-wal'].map((name) =>
      readFile(join(own.config.dataDir, name), 'latin1'),
    );
    const kept = (await Promise.all(pieces)).join('');
    expect(kept).toContain('ulla');
    for (const part of [token.slice(0, 21), token.slice(21)]) expect(kept).not.toContain(part);
    expect(kept).not.toContain(accessToken);
    expect(kept).not.toContain('the password of ulla');
  });
});

describe('the lifetime of a session', () => {
  async function hubWithTime(setup: HubSetup = {}) {
    const time = new HandDrivenRuntime();
    const runtime = { ...systemRuntime, clock: time.clock };
    return { time, ...(await ownHub({ ...setup, runtime })) };
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
    // Repetition begins no time of its own.
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

describe('a session from before refresh tokens had families', () => {
  it('continues with its cookie', async () => {
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
});

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
