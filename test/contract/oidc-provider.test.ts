/** Providers of the sign-on that change keys, are unreachable or not trusted, or are no providers. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Authority, authority } from '../support/hubs/certificates.js';
import {
  api,
  as,
  claims,
  expectRefused,
  foreignKey,
  hub,
  LIST,
  newKey,
  oldKey,
  provider,
  runtime,
  signed,
  signOnForEachTest,
  useOtherHub,
  useOtherProvider,
} from '../support/hubs/oidc-for-each-test.js';
import { forged, type ProviderKey, providerKey } from '../support/hubs/oidc-provider.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const MINUTE_MS = 60_000;

signOnForEachTest();

describe('a provider that signs with a new key', () => {
  const restartWith = (...keys: ProviderKey[]) => useOtherProvider({ keys });

  it('has its tokens accepted at once, and those of the old key while it publishes that', async () => {
    const before = await provider.token('pipeline');
    expect((await as(before, 'GET', LIST)).status).toBe(200);
    runtime.skip(11_000);
    await restartWith(newKey, oldKey);
    expect((await as(await provider.token('pipeline'), 'GET', LIST)).status).toBe(200);
    expect((await as(before, 'GET', LIST)).status).toBe(200);
  });

  it('and withdraws the old one has tokens of the old key refused within five minutes', async () => {
    const before = await provider.token('pipeline');
    expect((await as(before, 'GET', LIST)).status).toBe(200);
    await restartWith(newKey);
    runtime.skip(5 * MINUTE_MS);
    await expectRefused(before, 401, /not signed by a key of the provider$/);
  });

  it('is not asked repeatedly because of tokens that name unknown keys', async () => {
    expect((await as(await provider.token('pipeline'), 'GET', LIST)).status).toBe(200);
    for (let kid = 0; kid < 5; kid++) {
      const token = await forged(claims(), foreignKey.privateKey, { alg: 'RS256', kid: `made up ${kid}` });
      await expectRefused(token, 401, /not signed by a key/);
    }
    expect(provider.keyFetches()).toBe(1);
    runtime.skip(11_000);
    const token = await forged(claims(), foreignKey.privateKey, { alg: 'RS256', kid: 'made up' });
    await Promise.all(Array.from({ length: 5 }, () => expectRefused(token, 401, /not signed by a key/)));
    expect(provider.keyFetches()).toBe(2);
  });

  it('without naming it has each of its keys tried', async () => {
    await restartWith(newKey, oldKey);
    for (const { privateKey } of [oldKey, newKey]) {
      expect((await as(await forged(claims(), privateKey, { alg: 'RS256' }), 'GET', LIST)).status).toBe(200);
    }
    await expectRefused(await forged(claims(), foreignKey.privateKey, { alg: 'RS256' }), 401, /not signed/);
  });

  it('of another algorithm has its tokens accepted', async () => {
    await restartWith(await providerKey('elliptic', 'ES256'));
    expect((await as(await provider.token('pipeline'), 'GET', LIST)).status).toBe(200);
  });
});

describe('a hub that cannot reach the provider', () => {
  const UNAVAILABLE = /^the sign-on that issued this token cannot be reached, so the token cannot be checked/;
  const expectUnavailable = async (token: string) => {
    const answer = await as(token, 'GET', LIST);
    expect(answer.status, answer.text).toBe(503);
    expect(answer.body['message']).toMatch(UNAVAILABLE);
    expect(answer.text).not.toContain(String(provider.port));
    return Number(answer.headers.get('retry-after'));
  };
  const warnings = () => hub.log.filter(({ msg }) => msg.startsWith('the keys of the sign-on cannot'));

  it('answers with Retry-After, and logs the address and the reason', async () => {
    const token = await provider.token('pipeline');
    await provider.stop();
    expect(await expectUnavailable(token)).toBe(10);
    runtime.skip(4000);
    expect(await expectUnavailable(token)).toBe(6);
    expect(warnings()).toEqual([
      expect.objectContaining({
        issuer: provider.issuer,
        reason: expect.stringMatching(/openid-configuration: .*ECONNREFUSED/),
      }),
    ]);
    await useOtherProvider();
    runtime.skip(6000);
    expect((await as(token, 'GET', LIST)).status).toBe(200);
    expect(hub.log.some(({ msg }) => msg === 'the sign-on can be reached again')).toBe(true);
  });

  it('continues with the known keys for an hour', async () => {
    const lasting = await signed(claims({ exp: 9_999_999_999 }));
    expect((await as(lasting, 'GET', LIST)).status).toBe(200);
    await provider.stop();
    runtime.skip(59 * MINUTE_MS);
    expect((await as(lasting, 'GET', LIST)).status).toBe(200);
    runtime.skip(2 * MINUTE_MS);
    await expectUnavailable(lasting);
  });

  it('refuses tokens of a new key', async () => {
    expect((await as(await provider.token('pipeline'), 'GET', LIST)).status).toBe(200);
    await provider.stop();
    runtime.skip(11_000);
    await expectUnavailable(await forged(claims(), newKey.privateKey, { alg: 'RS256', kid: 'second' }));
  });

  it('refuses other callers too, except at open endpoints', async () => {
    await provider.stop();
    expect((await api.get(LIST)).status).toBe(401);
    expect((await api.get('/actuator/health')).status).toBe(200);
  });
});

describe('a provider with TLS', () => {
  let folder: TemporaryFolder;
  let ours: Authority;
  beforeEach(async () => {
    folder = await temporaryFolder();
    ours = await authority(folder.path, 'ours');
  });
  afterEach(() => folder.remove());

  const answerOf = async (
    ca: string | null,
    hosts: string[],
    expired = false,
  ): Promise<[number, unknown]> => {
    await useOtherProvider({ tls: await ours.issue({ name: 'sso', hosts, expired }) });
    await useOtherHub({ ca });
    const { status } = await as(await signed(claims()), 'GET', LIST);
    return [status, hub.log.find(({ msg }) => msg.startsWith('the keys of the sign-on cannot'))?.['reason']];
  };

  it('is trusted by the configured authority', async () => {
    expect(await answerOf(ours.file, ['127.0.0.1'])).toEqual([200, undefined]);
  });

  it('is not trusted without that authority, by another one, when expired, or under another name', async () => {
    const theirs = await authority(folder.path, 'theirs');
    const untrusted = /unable to (?:verify|get)|self[- ]signed/;
    expect(await answerOf(null, ['127.0.0.1'])).toEqual([503, expect.stringMatching(untrusted)]);
    expect(await answerOf(theirs.file, ['127.0.0.1'])).toEqual([503, expect.stringMatching(untrusted)]);
    expect(await answerOf(ours.file, ['127.0.0.1'], true)).toEqual([503, expect.stringMatching(/expired/)]);
    expect(await answerOf(ours.file, ['sso.example.org'])).toEqual([
      503,
      expect.stringMatching(/does not match certificate's altnames/),
    ]);
  });
});

describe('an address that is no provider', () => {
  let server: Server;
  let answers: Record<string, { status?: number; headers?: Record<string, string>; body: string }>;
  let address: string;
  beforeEach(async () => {
    answers = {};
    server = createServer((request, response) => {
      const answer = answers[request.url ?? ''];
      // Nothing: it hangs.
      if (answer) response.writeHead(answer.status ?? 200, answer.headers).end(answer.body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await useOtherHub({ issuer: address });
  });
  afterEach(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );

  const DISCOVERY = '/.well-known/openid-configuration';
  const discovery = (other: object) =>
    JSON.stringify({ issuer: address, jwks_uri: `${address}/jwks`, ...other });
  const reason = async (): Promise<unknown> => {
    const token = await signed(claims({ iss: address }));
    const pending = as(token, 'GET', LIST);
    const answer = await pending;
    expect(answer.status, answer.text).toBe(503);
    return hub.log.find(({ msg }) => msg.startsWith('the keys of the sign-on cannot'))?.['reason'];
  };

  it('because it returns an error is refused', async () => {
    answers[DISCOVERY] = { status: 500, body: 'secret internals' };
    expect(await reason()).toMatch(/responded with 500 instead of 200/);
  });

  it('because it redirects is refused', async () => {
    answers[DISCOVERY] = { status: 302, headers: { location: `${provider.issuer}${DISCOVERY}` }, body: '' };
    expect(await reason()).toMatch(/responded with 302 instead of 200; redirects are not followed/);
  });

  it('because it returns no JSON is refused', async () => {
    answers[DISCOVERY] = { body: '<html>' };
    expect(await reason()).toMatch(/did not answer JSON/);
  });

  it('because it names another issuer is refused', async () => {
    answers[DISCOVERY] = { body: discovery({ issuer: `${address}/` }) };
    expect(await reason()).toMatch(/names the issuer http.*\/, but security\.oidc\.issuer is http/);
  });

  it.each(['ftp://127.0.0.1/jwks', 'file:///etc/passwd', 'http://192.0.2.1/jwks', 'keys', 7, undefined])(
    'because its keys would come from %j is refused',
    async (jwksUri) => {
      answers[DISCOVERY] = { body: discovery({ jwks_uri: jwksUri }) };
      expect(await reason()).toMatch(/is not https|names no issuer and jwks_uri/);
    },
  );

  it.each(['[]', '{"keys":{}}', '{"keys":[7]}', '{"keys":[{"kid":"no kind"}]}'])(
    'because its keys are %s is refused',
    async (body) => {
      answers[DISCOVERY] = { body: discovery({}) };
      answers['/jwks'] = { body };
      expect(await reason()).toMatch(/is no set of keys/);
    },
  );

  it('because its response is endless is refused', async () => {
    answers[DISCOVERY] = { body: `"${'x'.repeat(2 * 1024 * 1024)}"` };
    expect(await reason()).toMatch(/responded with more than 1048576 bytes/);
  });

  it('because it does not respond within five seconds is refused', async () => {
    const asked = new Promise<void>((resolve) => server.once('request', () => resolve()));
    const found = reason();
    await asked;
    await runtime.advance(5000);
    expect(await found).toMatch(/no response within 5 s/);
  });

  it('because of one unusable key loses only the tokens of that key', async () => {
    answers[DISCOVERY] = { body: discovery({}) };
    answers['/jwks'] = {
      body: JSON.stringify({ keys: [{ kty: 'RSA', kid: 'first', n: 'AQAB', e: 'AQAB' }] }),
    };
    await expectRefused(await signed(claims({ iss: address })), 401, /not signed by a key/);
  });
});
