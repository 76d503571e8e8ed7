/** An outage of the sign-on: the provider hangs, returns errors, and is back with another key. Tokens of known keys stay valid,
 *  other callers are not affected, and the provider is not flooded. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import {
  api,
  as,
  claims,
  LIST,
  newKey,
  oldKey,
  RS256,
  runtime,
  signOnForEachTest,
  useOtherHub,
} from '../support/hubs/oidc-for-each-test.js';
import { forged, type ProviderKey } from '../support/hubs/oidc-provider.js';
import { USERS } from '../support/hubs/running-hub.js';

const MINUTE_MS = 60_000;

signOnForEachTest();

let server: Server;
let address: string;
let state: 'good' | 'hangs' | 'fails';
let key: ProviderKey;
/** Number of requests to it. */
let asked: number;
beforeEach(async () => {
  state = 'good';
  key = oldKey;
  asked = 0;
  server = createServer((request, response) => {
    asked++;
    if (state === 'hangs') return;
    const body =
      request.url === '/jwks'
        ? { keys: [publicPart(key)] }
        : { issuer: address, jwks_uri: `${address}/jwks` };
    response.writeHead(state === 'good' ? 200 : 500, { connection: 'close' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await useOtherHub({ issuer: address }, USERS);
});
afterEach(
  () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    }),
);

function publicPart({ jwk: { kty, n, e, kid } }: ProviderKey) {
  return { kty, n, e, kid };
}

/** A token that outlasts every outage, unless it says otherwise. */
const tokenOf = (sub: string, { privateKey }: ProviderKey = oldKey, kid = 'first') =>
  forged(claims({ iss: address, exp: 9_999_999_999, sub }), privateKey, { ...RS256, kid });
const statusOf = async (token: string) => (await as(token, 'GET', LIST)).status;

it('a provider that hangs delays a token that the known keys verify by a second at most', async () => {
  const token = await tokenOf('pipeline');
  expect(await statusOf(token)).toBe(200);
  state = 'hangs';
  runtime.skip(5 * MINUTE_MS);
  asked = 0;
  const first = statusOf(token);
  await eventually(() => asked === 1);
  await runtime.advance(1000);
  expect(await first).toBe(200);
  // Time stands still, so a request that waited now would wait for ever.
  for (const name of ['pipeline', 'another']) expect(await statusOf(await tokenOf(name))).toBe(200);
  await runtime.advance(4000);
  for (let at = 0; at < 30; at++) expect(await statusOf(token)).toBe(200);
  expect(asked).toBe(1);
});

it.each(['fails', 'hangs'] as const)(
  'a provider that %s for ten minutes is asked every ten seconds at most',
  async (how) => {
    const token = await tokenOf('pipeline');
    expect(await statusOf(token)).toBe(200);
    runtime.skip(4 * MINUTE_MS + 1);
    state = how;
    asked = 0;
    for (let at = 0; at < 60; at++) {
      const before = asked;
      expect(await statusOf(token)).toBe(200);
      // One that is not remembered.
      expect(await statusOf(await tokenOf(`pipeline ${at}`))).toBe(200);
      await eventually(() => asked === before + 1);
      // A try that hangs is given up after five seconds.
      if (how === 'hangs') await runtime.advance(5000);
      runtime.skip(how === 'hangs' ? 5000 : 10_000);
    }
    expect(asked).toBe(60);
  },
);

it('a provider that rotates its key during an outage is accepted when it is back, and until then new tokens get Retry-After', async () => {
  const before = await tokenOf('pipeline');
  expect(await statusOf(before)).toBe(200);
  state = 'fails';
  key = newKey;
  runtime.skip(11_000);
  const fresh = await tokenOf('pipeline', newKey, 'second');
  const refused = await as(fresh, 'GET', LIST);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '10']);
  expect(refused.body['message']).toMatch(/^the sign-on that issued this token cannot be reached/);
  expect(await statusOf(before)).toBe(200);
  state = 'good';
  runtime.skip(10_000);
  expect(await statusOf(fresh)).toBe(200);
  runtime.skip(5 * MINUTE_MS);
  expect(await statusOf(before)).toBe(401);
});

it('a provider that hangs from the start makes a hundred requests wait, and no more', async () => {
  state = 'hangs';
  const anna = await api.asUser('anna');
  const settled: number[] = [];
  const tokens = await Promise.all(Array.from({ length: 150 }, (_, at) => tokenOf(`made up ${at}`, newKey)));
  const answers = tokens.map(async (token) => {
    const status = await statusOf(token);
    settled.push(status);
  });
  await eventually(() => settled.length === 50);
  expect(settled).toEqual(Array(50).fill(503));
  expect((await anna.get(LIST)).status).toBe(200);
  expect((await api.get('/livez')).status).toBe(200);
  expect((await api.asUser('ulla')).token).toBeDefined();
  await runtime.advance(5000);
  await Promise.all(answers);
  expect(settled).toEqual(Array(150).fill(503));
  expect(asked).toBe(1);
});
