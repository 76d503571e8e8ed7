/** Access tokens that the hub did not issue, or no longer accepts: each is refused with 401 (contract 8.3). */
import { createHmac, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { api, hub, hubForAllTests } from '../support/hubs/hub-for-tests.js';
import { AUTH, logIn } from '../support/hubs/login.js';
import { USERS } from '../support/hubs/running-hub.js';
import { expectError } from '../support/interface/api.js';
import { rawSender } from '../support/interface/raw-request.js';
import { LOG_LEVEL } from '../support/memory-log.js';

type Json = Readonly<Record<string, unknown>>;

hubForAllTests({ users: USERS });

let good: { header: Json; payload: Json; secret: Buffer };
beforeAll(async () => {
  const { accessToken } = await logIn(api, 'anna');
  const [header = '', payload = ''] = accessToken.split('.');
  const file = JSON.parse(readFileSync(join(hub.config.dataDir, 'token-keys.json'), 'utf8')) as {
    keys: { secret: string }[];
  };
  good = {
    header: parsed(header),
    payload: parsed(payload),
    secret: Buffer.from(file.keys[0]?.secret ?? '', 'base64url'),
  };
});

const parsed = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()) as Json;
const encoded = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url');

/** A token that is signed with any secret. */
function forged({
  header = {},
  payload = {},
  secret = good.secret,
  hash = 'sha256',
}: {
  header?: Json;
  payload?: Json;
  secret?: Buffer;
  hash?: string;
} = {}): string {
  const body = `${encoded({ ...good.header, ...header })}.${encoded({ ...good.payload, ...payload })}`;
  return `${body}.${createHmac(hash, secret).update(body).digest('base64url')}`;
}

function unsigned(algorithm: string): string {
  return `${encoded({ ...good.header, alg: algorithm })}.${encoded(good.payload)}.`;
}

const nowS = () => Math.floor(Date.now() / 1000);

it('a token names its session and its user, and no role', async () => {
  expect(good.header).toEqual({ alg: 'HS256', typ: 'at+jwt', kid: expect.any(String) });
  expect(good.payload).toEqual({
    iss: 'workbench-hub',
    aud: 'workbench-hub',
    sub: 'anna',
    sid: expect.any(String),
    jti: expect.any(String),
    iat: expect.any(Number),
    exp: expect.any(Number),
  });
  expect(Number(good.payload['exp']) - Number(good.payload['iat'])).toBeGreaterThanOrEqual(900);
  expect(Number(good.payload['exp']) - Number(good.payload['iat'])).toBeLessThanOrEqual(901);
  expect((await api.as(forged()).get(AUTH.USER)).body).toEqual({ username: 'anna' });
});

describe.each<[string, () => string]>([
  ['without a signature (alg none)', () => unsigned('none')],
  ['with alg None', () => unsigned('None')],
  ['with alg none and the signature of a good one', () => forged({ header: { alg: 'none' } })],
  ['that is a good one without its signature', () => forged().replace(/[^.]+$/, '')],
  ['whose signature is one bit off', () => flipped(forged())],
  ['signed with a foreign key of the same name', () => forged({ secret: randomBytes(32) })],
  ['signed with an empty key', () => forged({ secret: Buffer.alloc(0) })],
  ['signed with a key that nobody knows', () => forged({ header: { kid: 'nobody-knows-it' } })],
  ['that names no key', () => forged({ header: { kid: undefined } })],
  ['whose key is a path', () => forged({ header: { kid: '../../../../dev/null' }, secret: Buffer.alloc(0) })],
  [
    'that brings its own key',
    () => forged({ header: { jwk: { kty: 'oct', k: 'AAAA' } }, secret: Buffer.alloc(3) }),
  ],
  ['with another algorithm of the same key', () => forged({ header: { alg: 'HS512' }, hash: 'sha512' })],
  ['with the algorithm of public keys', () => rsaSigned()],
  ['with a critical header that nobody knows', () => forged({ header: { crit: ['hub'], hub: true } })],
  ['of another type', () => forged({ header: { typ: 'JWT' } })],
  ['of no type', () => forged({ header: { typ: undefined } })],
  ['of a foreign issuer', () => forged({ payload: { iss: 'https://login.example.com' } })],
  ['of no issuer', () => forged({ payload: { iss: undefined } })],
  ['for somebody else', () => forged({ payload: { aud: 'another-hub' } })],
  ['for nobody', () => forged({ payload: { aud: undefined } })],
  ['that has expired', () => forged({ payload: { exp: nowS() - 1 } })],
  ['that never expires', () => forged({ payload: { exp: undefined } })],
  ['whose expiry is a text', () => forged({ payload: { exp: '9999999999' } })],
  ['whose expiry is nothing', () => forged({ payload: { exp: null } })],
  ['that is good only later', () => forged({ payload: { nbf: nowS() + 60 } })],
  ['without a session', () => forged({ payload: { sid: undefined } })],
  ['whose session is a list', () => forged({ payload: { sid: [good.payload['sid']] } })],
  ['of a session that never was', () => forged({ payload: { sid: '019aa4f2-ffff-7c41-9f0e-5b2f6f1d2a77' } })],
  ["of somebody else's session", () => forged({ payload: { sub: 'vera' } })],
  ['without a user', () => forged({ payload: { sub: undefined } })],
  ['that is garbage', () => 'garbage'],
  ['of dots', () => '..'],
  ['of three pieces of garbage', () => 'a.b.c'],
  [
    'whose payload is no JSON',
    () => `${encoded(good.header)}.${Buffer.from('{').toString('base64url')}.AAAA`,
  ],
  ['whose payload is a list', () => `${encoded(good.header)}.${encoded([])}.AAAA`],
  ['in five pieces', () => 'a.b.c.d.e'],
  ['that is the refresh token', () => 'A'.repeat(43)],
  ['that is the token of the agents', () => hub.token],
])('a token %s', (_, make) => {
  it('is refused', async () => {
    for (const path of [AUTH.USER, '/api/2.0/workbench/task/list', '/api/1.0/workbench/task/list']) {
      const answer = await api.as(make()).get(path);
      expectError(
        answer,
        401,
        path,
        /^(the access token is not valid|the session of|the Authorization header holds no)/,
      );
      expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/);
    }
  });
});

it.each([
  ['', 'nothing'],
  ['Bearer', 'no token'],
  ['Bearer ', 'an empty token'],
  ['Basic YW5uYTphbm5h', 'a password'],
  ['Token abc', 'another scheme'],
  ['Bearer a b', 'two tokens'],
  ['Bearer "abc"', 'quotes'],
])('an Authorization header of %j is refused', async (authorization) => {
  const answer = await api.call('GET', AUTH.USER, { headers: { authorization } });
  expect(answer.status, answer.text).toBe(401);
});

it('the scheme may be written in any case', async () => {
  for (const scheme of ['bearer', 'BEARER', 'Bearer  ']) {
    const answer = await api.call('GET', AUTH.USER, { headers: { authorization: `${scheme} ${forged()}` } });
    expect(answer.status).toBe(200);
  }
});

it('very long tokens are refused without verification', async () => {
  const { send, close } = rawSender(hub.address);
  for (const length of [10_000, 15_000, 100_000]) {
    const authorization = `Bearer ${forged({ payload: { padding: 'x'.repeat(length), sub: 'vera' } })}`;
    const { status } = await send({ method: 'GET', target: AUTH.USER, headers: { authorization } }).catch(
      () => ({
        status: 431,
      }),
    );
    expect([401, 431]).toContain(status);
  }
  close();
});

it('an altered token is refused even when the unaltered one was verified just before', async () => {
  const token = forged();
  for (let at = 0; at < 3; at++) {
    expect((await api.as(token).get(AUTH.USER)).status).toBe(200);
    expect((await api.as(flipped(token)).get(AUTH.USER)).status).toBe(401);
    expect((await api.as(`${token}A`).get(AUTH.USER)).status).toBe(401);
  }
});

it('refused tokens cause no error log lines', () => {
  expect(hub.log.filter(({ level }) => level >= LOG_LEVEL.ERROR)).toEqual([]);
});

/** Another signature: a bit that counts is changed in its middle. */
function flipped(token: string): string {
  const at = token.length - 20;
  return `${token.slice(0, at)}${token[at] === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`;
}

function rsaSigned(): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const body = `${encoded({ ...good.header, alg: 'RS256' })}.${encoded(good.payload)}`;
  return `${body}.${sign('sha256', Buffer.from(body), privateKey).toString('base64url')}`;
}
