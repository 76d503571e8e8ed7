/** Login, and the endpoints that require it (contract 8.1 to 8.6). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { passwordOf, type RunningHub, startHub, USERS } from '../support/hubs/running-hub.js';
import { type Answer, Api, expectError } from '../support/interface/api.js';

const LOGIN = '/api/2.0/auth/login';
const LOGIN_10 = '/api/1.0/auth/login';
const USER = '/api/2.0/user';
const WRONG = 'the username or the password is wrong, or the user is disabled';

const cookieOf = ({ headers }: Answer) => headers.getSetCookie();

describe('login with security on', () => {
  let hub: RunningHub;
  let api: Api;
  beforeAll(async () => {
    hub = await startHub({ users: USERS });
    api = new Api(hub);
  });
  afterAll(() => hub.stop());

  const logIn = (username: string, password: string, path = LOGIN) => api.post(path, { username, password });

  it.each(Object.keys(USERS))('gives %s a token that identifies the user', async (username) => {
    const answer = await logIn(username, passwordOf(username));
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ accessToken: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/) });
    const caller = api.as(answer.body['accessToken'] as string);
    expect(await caller.get(USER)).toMatchObject({ status: 200, body: { username } });
  });

  it('sets a cookie in 2.x, which scripts and other sites cannot use, and none in 1.0', async () => {
    expect(cookieOf(await logIn('anna', passwordOf('anna')))).toEqual([
      expect.stringMatching(
        /^refreshToken=[\w-]{43}; Max-Age=2592000; Path=\/api\/2\.0\/auth; HttpOnly; SameSite=Strict$/,
      ),
    ]);
    const answer = await logIn('anna', passwordOf('anna'), LOGIN_10);
    expect(cookieOf(answer)).toEqual([]);
    const caller = api.as(answer.body['accessToken'] as string);
    expect((await caller.get(USER)).body).toEqual({ username: 'anna' });
  });

  it('is required for all other requests, and the refusal says how to get a token', async () => {
    const answer = await api.get(USER);
    expectError(answer, 401, USER, /^a token is required: log in at \/api\/2\.0\/auth\/login/);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
  });

  it.each([
    ['a wrong password', 'anna', 'the password of vera'],
    ['an unknown name', 'nobody', passwordOf('nobody')],
    ['another spelling of a name', 'Anna', passwordOf('anna')],
    ['a name with a space', 'anna ', passwordOf('anna')],
    ['no password', 'anna', ''],
    ['no name', '', ''],
    ['a name with a line break', 'anna\r\nSet-Cookie: a=b', passwordOf('anna')],
    ['a zero character after the password', 'anna', `${passwordOf('anna')}\0`],
    ['a name of the prototype', '__proto__', passwordOf('anna')],
  ])('refuses %s with the same message', async (_, username, password) => {
    for (const path of [LOGIN, LOGIN_10]) {
      const answer = await logIn(username, password, path);
      expectError(answer, 401, path, WRONG);
      expect(cookieOf(answer)).toEqual([]);
    }
  });

  it('does not accept a password in the URL or a form', async () => {
    const query = `username=anna&password=${encodeURIComponent(passwordOf('anna'))}`;
    expectError(await api.post(`${LOGIN}?${query}`, {}), 400, LOGIN, /^username: is required/);
    expectError(await api.call('POST', LOGIN, { raw: query }), 400, LOGIN, /^body: is not JSON/);
    expect((await api.get(`${LOGIN}?${query}`)).status).toBe(405);
  });
});

describe('login with security off', () => {
  let hub: RunningHub;
  let api: Api;
  beforeAll(async () => {
    hub = await startHub();
    api = new Api(hub);
  });
  afterAll(() => hub.stop());

  it('is not needed: every caller is anonymous', async () => {
    expect((await api.get(USER)).body).toEqual({ username: 'anonymous' });
    expect((await api.as('rubbish').get(USER)).body).toEqual({ username: 'anonymous' });
  });

  it.each([LOGIN, LOGIN_10])('accepts any name and password at %s', async (path) => {
    for (let at = 0; at < 12; at++) {
      const { status, body } = await api.post(path, { username: `somebody ${at}`, password: '' });
      expect(status).toBe(200);
      expect((await api.as(body['accessToken'] as string).get(USER)).body).toEqual({ username: 'anonymous' });
    }
  });

  it('gives tokens that are refused once security is on', async () => {
    const { body } = await api.post(LOGIN, { username: 'anna', password: passwordOf('anna') });
    const secured = await startHub({ users: USERS });
    expect((await new Api(secured, body['accessToken'] as string).get(USER)).status).toBe(401);
    await secured.stop();
  });
});
