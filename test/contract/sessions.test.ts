/** Sessions: opened by a login, continued by refresh tokens that are valid for one use, ended by a logout (contract 8.2 to 8.5). */
import { describe, expect, it, onTestFinished } from 'vitest';
import { api, hubForAllTests, ownHub } from '../support/hubs/hub-for-tests.js';
import { AUTH, loggedInBy, logIn, logOut, refresh, statusFor } from '../support/hubs/login.js';
import { passwordOf, quickPasswords, USERS } from '../support/hubs/running-hub.js';
import { type Api, expectError } from '../support/interface/api.js';
import { keptInStore, withAccountsOf } from '../support/stores/tested-store.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const WRONG = 'the username or the password is wrong, or the user is disabled';
const NO_COOKIE = 'the cookie refreshToken is required: log in at /api/2.0/auth/login';
const NOT_VALID = 'the cookie refreshToken names no active session: log in at /api/2.0/auth/login';
const USED_BEFORE = /^this refresh token has been used before, so somebody else may hold it/;
const ENDED = 'the session of this access token has ended: log in again';

hubForAllTests({ users: USERS });

describe('a login', () => {
  it.each([
    ['whose password is changed', { passwordHash: 'another' }],
    ['who is disabled', { disabled: true }],
    ['who is removed', undefined],
  ])('starts no session for a user %s during the password check', async (_, change) => {
    const folder = await temporaryFolder();
    onTestFinished(folder.remove);
    // As a command of the operator does it, beside the running hub.
    const changeUser = () =>
      withAccountsOf(folder.path, ({ users }) =>
        change ? users.change('ulla', { ...change, endSessions: true }) : users.remove('ulla'),
      );
    const passwords = {
      ...quickPasswords,
      verify: async (password: string, hash: string) => {
        const fits = await quickPasswords.verify(password, hash);
        await changeUser();
        return fits;
      },
    };
    const own = await ownHub({ users: USERS, dataDir: folder.path, passwords });
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
    const { api: own } = await ownHub({
      users: USERS,
      config: { server: { publicUrl: 'https://hub.example.com' } },
    });
    expect(await setCookie(own)).toMatch(/; HttpOnly; Secure; SameSite=Strict$/);
  });

  it.each([
    ['https://hub.example.com', '/api/2.0/auth'],
    ['https://example.com/simulation/', '/simulation/api/2.0/auth'],
  ])('is sent below the path by which clients reach the hub: %s', async (publicUrl, path) => {
    const { api: own } = await ownHub({ users: USERS, config: { server: { publicUrl } } });
    expect(await setCookie(own)).toContain(`; Path=${path};`);
  });

  it('is Secure when a trusted proxy reports https, and not when a client does', async () => {
    const forwarded = { 'x-forwarded-proto': 'https' };
    expect(await setCookie(api, forwarded)).not.toMatch(/Secure/);
    const { api: own } = await ownHub({ users: USERS, config: { server: { trustedProxies: ['loopback'] } } });
    expect(await setCookie(own, forwarded)).toMatch(/; Secure/);
    expect(await setCookie(own)).not.toMatch(/; Secure/);
  });

  it('has no value that the hub stores in plain', async () => {
    const { hub: own, api: ownApi } = await ownHub({ users: USERS });
    const { cookie, accessToken } = await logIn(ownApi, 'ulla');
    const token = cookie.split('=')[1] ?? '';
    expect(token).toHaveLength(43);
    const kept = await keptInStore(own.config.dataDir);
    expect(kept).toContain('ulla');
    for (const part of [token.slice(0, 21), token.slice(21)]) expect(kept).not.toContain(part);
    expect(kept).not.toContain(accessToken);
    expect(kept).not.toContain('the password of ulla');
  });
});
