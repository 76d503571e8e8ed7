/** The company's sign-on: tokens of a real OpenID Connect provider at the door of the REST interface. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { hubConfigSchema } from '@workbench-hub/hub/config';
import { exportSPKI, importJWK } from 'jose';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Answer, Api } from '../support/api.js';
import { type Authority, authority } from '../support/certificates.js';
import { HandDrivenRuntime } from '../support/hand-driven-runtime.js';
import { type HubSetup, type RunningHub, startHub } from '../support/running-hub.js';
import {
  AUDIENCE,
  forged,
  type ProviderKey,
  providerKey,
  type SignOnProvider,
  startProvider,
} from '../support/sign-on-provider.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const TASKS = '/api/2.0/workbench/task';
const LIST = `${TASKS}/list`;
const CREATE = `${TASKS}/simulate-work/create`;
const MINUTE_MS = 60_000;

const CLIENTS = {
  boss: ['ADMIN'],
  pipeline: ['user', 'something else'],
  auditor: 'openid viewer',
  stranger: ['accounting'],
  nobody: undefined,
};

/** Making keys takes long, so they are made once. */
let oldKey: ProviderKey;
let newKey: ProviderKey;
let foreignKey: ProviderKey;
beforeAll(async () => {
  [oldKey, newKey, foreignKey] = await Promise.all([
    providerKey('first'),
    providerKey('second'),
    providerKey('first'),
  ]);
});

let runtime: HandDrivenRuntime;
let provider: SignOnProvider;
let hub: RunningHub;
let api: Api;
beforeEach(async () => {
  runtime = new HandDrivenRuntime(Date.now());
  provider = await startProvider({ keys: [oldKey], clients: CLIENTS });
  await useHub({});
});
afterEach(async () => {
  await hub.stop();
  await provider.stop();
});

type Oidc = NonNullable<NonNullable<NonNullable<HubSetup['config']>['security']>['oidc']>;

async function useHub(oidc: Partial<Oidc>, users: HubSetup['users'] = {}): Promise<void> {
  hub = await startHub({
    runtime,
    users,
    config: {
      security: { enabled: true, oidc: { issuer: provider.issuer, audience: AUDIENCE, ...oidc } },
    },
  });
  api = new Api(hub);
}

async function useOtherHub(oidc: Partial<Oidc>, users: HubSetup['users'] = {}): Promise<void> {
  await hub.stop();
  await useHub(oidc, users);
}

function as(token: string, method: string, path: string, json?: unknown): Promise<Answer> {
  return api.call(method, path, { json, headers: { authorization: `Bearer ${token}` } });
}

async function expectRefused(token: string, status: number, message: RegExp): Promise<void> {
  const answer = await as(token, 'GET', LIST);
  expect(answer.status, answer.text).toBe(status);
  expect(answer.body['message']).toMatch(message);
  expect(answer.text).not.toContain(token);
  expect(answer.headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer' : null);
}

/** Claims of a good token, for those that differ in one. */
function claims(other: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  const nowS = Math.floor(runtime.clock.nowMs() / 1000);
  const good = { iss: provider.issuer, aud: AUDIENCE, sub: 'pipeline', roles: ['USER'], iat: nowS };
  return { ...good, exp: nowS + 600, ...other };
}

const RS256 = { alg: 'RS256', kid: 'first' };

describe('who comes with a token of the provider', () => {
  it('is let in under the name and with the role that it gives', async () => {
    const token = await provider.token('pipeline');
    const created = await as(token, 'POST', CREATE, { duration: 1 });
    expect(created.status, created.text).toBe(201);
    const id = created.body['id'] as string;
    expect((await as(token, 'GET', `${TASKS}/${id}`)).body).toMatchObject({ creator: 'pipeline' });
    expect((await as(token, 'GET', '/actuator/logfile')).status).toBe(403);
    expect((await as(token, 'DELETE', `${TASKS}/${id}/cancel`)).status).toBe(204);
  });

  it('reads as VIEWER, and is told which role more takes', async () => {
    const token = await provider.token('auditor');
    expect((await as(token, 'GET', LIST)).status).toBe(200);
    const answer = await as(token, 'POST', CREATE, { duration: 1 });
    expect([answer.status, answer.body['message']]).toEqual([
      403,
      'this takes the role USER; auditor has VIEWER',
    ]);
  });

  it('cancels tasks of others as ADMIN only', async () => {
    const [boss, pipeline] = [await provider.token('boss'), await provider.token('pipeline')];
    const { body } = await as(boss, 'POST', CREATE, { duration: 1 });
    expect((await as(pipeline, 'DELETE', `${TASKS}/${body['id']}/cancel`)).status).toBe(403);
    const other = await as(pipeline, 'POST', CREATE, { duration: 1 });
    expect((await as(boss, 'DELETE', `${TASKS}/${other.body['id']}/cancel`)).status).toBe(204);
  });

  it.each(['stranger', 'nobody'])('and no role that the hub knows is told so: %s', async (client) => {
    await expectRefused(
      await provider.token(client),
      403,
      new RegExp(
        `^the sign-on gives ${client} none of the roles VIEWER, USER, ADMIN: its claim roles has no value`,
      ),
    );
  });

  it('and has the name of a user of the hub’s own is refused, who can log in beside', async () => {
    await useOtherHub({}, { pipeline: ['VIEWER'] });
    await expectRefused(
      await provider.token('pipeline'),
      403,
      /^the sign-on calls you pipeline, and so is called a user of this hub's own: whose task is whose could not/,
    );
    expect((await as(await provider.token('boss'), 'GET', LIST)).status).toBe(200);
    expect((await (await api.asUser('pipeline')).get(LIST)).status).toBe(200);
  });

  it('costs the provider one look at its keys, however many requests there are', async () => {
    const tokens = await Promise.all(['boss', 'pipeline', 'auditor'].map((client) => provider.token(client)));
    const answers = await Promise.all([...tokens, ...tokens].map((token) => as(token, 'GET', LIST)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
    expect(provider.keyFetches()).toBe(1);
  });
});

describe('where name and roles stand', () => {
  it('is a path of claims, and which values give a role is configured', async () => {
    await useOtherHub({
      usernameClaim: 'preferred_username',
      rolesClaim: 'realm_access.roles',
      roles: { ADMIN: ['4711'], VIEWER: ['staff', 'guests'] },
    });
    const token = (realmRoles: unknown) =>
      forged(
        claims({ preferred_username: 'Anna Õ', roles: ['ADMIN'], realm_access: { roles: realmRoles } }),
        oldKey.privateKey,
        RS256,
      );
    const mayReadTheLog = async (realmRoles: unknown) =>
      (await as(await token(realmRoles), 'GET', '/actuator/logfile')).status;
    expect(await mayReadTheLog(['staff', '4711'])).not.toBe(403);
    expect(await mayReadTheLog(['staff'])).toBe(403);
    expect((await as(await token(['guests']), 'GET', LIST)).status).toBe(200);
    await expectRefused(await token(['ADMIN']), 403, /^the sign-on gives Anna Õ none of the roles/);
    await expectRefused(await token({ 0: '4711' }), 403, /its claim realm_access\.roles has no value/);
    const created = await as(await token(['user', '4711']), 'POST', CREATE, { duration: 1 });
    const shown = await as(await token(['staff']), 'GET', `${TASKS}/${created.body['id']}`);
    expect(shown.body).toMatchObject({ creator: 'Anna Õ' });
  });

  it.each([undefined, '', 7, ['pipeline'], 'a\nb', ' a', 'a\u202eb', 'x'.repeat(256)])(
    'is no place for the name %j',
    async (sub) => {
      const token = await forged(claims({ sub }), oldKey.privateKey, RS256);
      await expectRefused(token, 403, /has no name in its claim sub$/);
    },
  );
});

describe('a token is refused', () => {
  const good = () => forged(claims(), oldKey.privateKey, RS256);

  it('that is altered in its claims', async () => {
    const [head, , signature] = (await good()).split('.');
    const altered = Buffer.from(JSON.stringify(claims({ roles: ['ADMIN'] }))).toString('base64url');
    await expectRefused(`${head}.${altered}.${signature}`, 401, /not signed by a key of the provider$/);
  });

  it.each([
    ['of another audience', { aud: 'https://other.example.org' }, /not for the audience https:\/\/hub\./],
    ['of no audience', { aud: undefined }, /not for the audience https:\/\/hub\.example\.org/],
    ['that has expired', { exp: 1 }, /it has expired; get a new one/],
    ['that never expires', { exp: undefined }, /it lacks a time at which it expires/],
    ['whose end is no time', { exp: 'tomorrow' }, /it lacks|claim exp does not hold/],
    ['that is good later only', { nbf: 9_999_999_999 }, /its claim nbf does not hold/],
    ['that was issued in the future', { iat: 9_999_999_999 }, /its claim iat does not hold/],
    ['of another issuer', { iss: 'http://127.0.0.1:1' }, /holds no bearer token of this hub/],
    ['of no issuer', { iss: undefined }, /holds no bearer token of this hub/],
    ['of nearly the issuer', { iss: 'http://127.0.0.1/' }, /holds no bearer token of this hub/],
  ])('%s', async (_name, other, message) => {
    expect((await as(await good(), 'GET', LIST)).status).toBe(200);
    await expectRefused(await forged(claims(other), oldKey.privateKey, RS256), 401, message);
  });

  it('that the provider gave for something else', async () => {
    const token = await provider.token('boss', 'https://wiki.example.org');
    await expectRefused(token, 401, /not for the audience https:\/\/hub\.example\.org/);
  });

  it('that is signed by a foreign key under the name of the right one', async () => {
    await expectRefused(await forged(claims(), foreignKey.privateKey, RS256), 401, /not signed by a key/);
  });

  it('that is not signed at all', async () => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    for (const alg of ['none', 'None', 'NONE', '']) {
      await expectRefused(`${part({ alg, kid: 'first' })}.${part(claims())}.`, 401, /not signed by a key/);
      await expectRefused(`${part({ alg, kid: 'first' })}.${part(claims())}.AAAA`, 401, /not signed by/);
    }
  });

  it('that is signed with the public key as a shared secret', async () => {
    const { kty, n, e } = oldKey.jwk;
    const publicKey = (await importJWK(
      { kty: kty as 'RSA', n: n as string, e: e as string },
      'RS256',
    )) as never;
    for (const secret of [await exportSPKI(publicKey), JSON.stringify({ kty, n, e })]) {
      const token = await forged(claims(), new TextEncoder().encode(secret), { alg: 'HS256', kid: 'first' });
      await expectRefused(token, 401, /not signed by a key/);
    }
  });

  it.each(['x', 'x.y', 'x.y.z', 'e30.e30.e30', 'a'.repeat(15_000)])('that is none: %.20s', async (token) => {
    await expectRefused(token, 401, /holds no bearer token of this hub/);
    expect(provider.keyFetches()).toBe(0);
  });

  it('when its time is over, also when it was good before, but for what clocks may differ', async () => {
    const token = await provider.token('pipeline');
    expect((await as(token, 'GET', LIST)).status).toBe(200);
    runtime.skip(10 * MINUTE_MS + 20_000);
    expect((await as(token, 'GET', LIST)).status).toBe(200);
    runtime.skip(20_000);
    await expectRefused(token, 401, /it has expired; get a new one from the provider$/);
  });
});

describe('when the provider signs with a new key', () => {
  const restartWith = async (...keys: ProviderKey[]) => {
    const { port } = provider;
    await provider.stop();
    provider = await startProvider({ keys, clients: CLIENTS, port });
  };

  it('its tokens are taken at once, and those of the old key as long as it publishes that', async () => {
    const before = await provider.token('pipeline');
    expect((await as(before, 'GET', LIST)).status).toBe(200);
    runtime.skip(11_000);
    await restartWith(newKey, oldKey);
    expect((await as(await provider.token('pipeline'), 'GET', LIST)).status).toBe(200);
    expect((await as(before, 'GET', LIST)).status).toBe(200);
  });

  it('and withdraws the old one, tokens of that are refused within five minutes', async () => {
    const before = await provider.token('pipeline');
    expect((await as(before, 'GET', LIST)).status).toBe(200);
    await restartWith(newKey);
    runtime.skip(5 * MINUTE_MS);
    await expectRefused(before, 401, /not signed by a key of the provider$/);
  });

  it('tokens that name keys which never were do not make the hub ask again and again', async () => {
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

  it('without saying by name which one, each of its keys is tried', async () => {
    await restartWith(newKey, oldKey);
    for (const { privateKey } of [oldKey, newKey]) {
      expect((await as(await forged(claims(), privateKey, { alg: 'RS256' }), 'GET', LIST)).status).toBe(200);
    }
    await expectRefused(await forged(claims(), foreignKey.privateKey, { alg: 'RS256' }), 401, /not signed/);
  });

  it('of another kind, that is taken as well', async () => {
    await restartWith(await providerKey('elliptic', 'ES256'));
    expect((await as(await provider.token('pipeline'), 'GET', LIST)).status).toBe(200);
  });
});

describe('when the provider cannot be reached', () => {
  const UNAVAILABLE = /^the sign-on that issued this token cannot be reached, so the token cannot be checked/;
  const expectUnavailable = async (token: string) => {
    const answer = await as(token, 'GET', LIST);
    expect(answer.status, answer.text).toBe(503);
    expect(answer.body['message']).toMatch(UNAVAILABLE);
    expect(answer.text).not.toContain(String(provider.port));
    return Number(answer.headers.get('retry-after'));
  };
  const warnings = () => hub.log.filter(({ msg }) => msg.startsWith('the keys of the sign-on cannot'));

  it('says so with the time after which to try again, and the operator reads where and why', async () => {
    const token = await provider.token('pipeline');
    const { port } = provider;
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
    provider = await startProvider({ keys: [oldKey], clients: CLIENTS, port });
    runtime.skip(6000);
    expect((await as(token, 'GET', LIST)).status).toBe(200);
    expect(hub.log.some(({ msg }) => msg === 'the sign-on can be reached again')).toBe(true);
  });

  it('goes on with the keys that it has for an hour', async () => {
    const lasting = await forged(claims({ exp: 9_999_999_999 }), oldKey.privateKey, RS256);
    expect((await as(lasting, 'GET', LIST)).status).toBe(200);
    await provider.stop();
    runtime.skip(59 * MINUTE_MS);
    expect((await as(lasting, 'GET', LIST)).status).toBe(200);
    runtime.skip(2 * MINUTE_MS);
    await expectUnavailable(lasting);
  });

  it('cannot tell of a new key whether it is the provider’s', async () => {
    expect((await as(await provider.token('pipeline'), 'GET', LIST)).status).toBe(200);
    await provider.stop();
    runtime.skip(11_000);
    await expectUnavailable(await forged(claims(), newKey.privateKey, { alg: 'RS256', kid: 'second' }));
  });

  it('lets in nobody else either, and everybody to what is open', async () => {
    await provider.stop();
    expect((await api.get(LIST)).status).toBe(401);
    expect((await api.get('/actuator/health')).status).toBe(200);
  });
});

describe('over TLS', () => {
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
    const tls = await ours.issue({ name: 'sso', hosts, expired });
    await provider.stop();
    provider = await startProvider({ keys: [oldKey], clients: {}, tls });
    await useOtherHub({ ca });
    const { status } = await as(await forged(claims(), oldKey.privateKey, RS256), 'GET', LIST);
    return [status, hub.log.find(({ msg }) => msg.startsWith('the keys of the sign-on cannot'))?.['reason']];
  };

  it('the provider is trusted by the authority that is configured', async () => {
    expect(await answerOf(ours.file, ['127.0.0.1'])).toEqual([200, undefined]);
  });

  it('it is not trusted without that, or by another, or expired, or under another name', async () => {
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

describe('what is no provider', () => {
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
    const token = await forged(claims({ iss: address }), oldKey.privateKey, RS256);
    const pending = as(token, 'GET', LIST);
    const answer = await pending;
    expect(answer.status, answer.text).toBe(503);
    return hub.log.find(({ msg }) => msg.startsWith('the keys of the sign-on cannot'))?.['reason'];
  };

  it('since it answers an error', async () => {
    answers[DISCOVERY] = { status: 500, body: 'secret internals' };
    expect(await reason()).toMatch(/answered 500 instead of 200/);
  });

  it('since it sends elsewhere', async () => {
    answers[DISCOVERY] = { status: 302, headers: { location: `${provider.issuer}${DISCOVERY}` }, body: '' };
    expect(await reason()).toMatch(/answered 302 instead of 200; redirects are not followed/);
  });

  it('since it answers no JSON', async () => {
    answers[DISCOVERY] = { body: '<html>' };
    expect(await reason()).toMatch(/did not answer JSON/);
  });

  it('since it names another issuer', async () => {
    answers[DISCOVERY] = { body: discovery({ issuer: `${address}/` }) };
    expect(await reason()).toMatch(/names the issuer http.*\/, but security\.oidc\.issuer is http/);
  });

  it.each(['ftp://127.0.0.1/jwks', 'file:///etc/passwd', 'http://192.0.2.1/jwks', 'keys', 7, undefined])(
    'since its keys would come from %j',
    async (jwksUri) => {
      answers[DISCOVERY] = { body: discovery({ jwks_uri: jwksUri }) };
      expect(await reason()).toMatch(/is not https|names no issuer and jwks_uri/);
    },
  );

  it.each(['[]', '{"keys":{}}', '{"keys":[7]}', '{"keys":[{"kid":"no kind"}]}'])(
    'since its keys are %s',
    async (body) => {
      answers[DISCOVERY] = { body: discovery({}) };
      answers['/jwks'] = { body };
      expect(await reason()).toMatch(/is no set of keys/);
    },
  );

  it('since it answers without end', async () => {
    answers[DISCOVERY] = { body: `"${'x'.repeat(2 * 1024 * 1024)}"` };
    expect(await reason()).toMatch(/answered more than 1048576 bytes/);
  });

  it('since it does not answer within five seconds', async () => {
    const asked = new Promise<void>((resolve) => server.once('request', () => resolve()));
    const found = reason();
    await asked;
    await runtime.advance(5000);
    expect(await found).toMatch(/no answer within 5 s/);
  });

  it('takes a key without a fault only: one that cannot be used refuses its tokens, no more', async () => {
    answers[DISCOVERY] = { body: discovery({}) };
    answers['/jwks'] = {
      body: JSON.stringify({ keys: [{ kty: 'RSA', kid: 'first', n: 'AQAB', e: 'AQAB' }] }),
    };
    await expectRefused(
      await forged(claims({ iss: address }), oldKey.privateKey, RS256),
      401,
      /not signed by a key/,
    );
  });
});

describe('the configuration', () => {
  const faultsOf = (oidc: Record<string, unknown>) =>
    hubConfigSchema
      .safeParse({
        security: { oidc: { issuer: 'https://sso.example.org/realms/main', audience: 'hub', ...oidc } },
      })
      .error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);

  it('takes https, and http on loopback only', () => {
    for (const issuer of [
      'https://sso.example.org',
      'https://sso.example.org/realms/main/',
      'http://[::1]:1',
    ]) {
      expect(faultsOf({ issuer })).toBeUndefined();
    }
    for (const issuer of [
      'http://sso.example.org',
      'http://127.0.0.1.example.org',
      'https://sso.example.org/?realm=main',
      'https://anna:secret@sso.example.org',
      'sso.example.org',
      '',
    ]) {
      expect(faultsOf({ issuer }), issuer).toEqual([
        expect.stringMatching(/^security\.oidc\.issuer: the https address that the provider itself gives/),
      ]);
    }
  });

  it('needs issuer and audience, and knows each key', () => {
    expect(faultsOf({ audience: '' })).toHaveLength(1);
    expect(faultsOf({ issuer: undefined, audience: undefined })).toHaveLength(2);
    expect(faultsOf({ roles: { OPERATOR: ['x'] } })).toHaveLength(1);
    expect(faultsOf({ clockTolerance: '-1s' })).toHaveLength(1);
  });

  it('names a file of certificates that is not there, or holds none', async () => {
    await expect(useOtherHub({ ca: '/nowhere/ca.pem' })).rejects.toThrow(
      'the file /nowhere/ca.pem of security.oidc.ca cannot be read (ENOENT)',
    );
    await expect(useHub({ ca: fileURLToPath(import.meta.url) })).rejects.toThrow(
      /of security\.oidc\.ca holds no certificate in PEM$/,
    );
  });
});
