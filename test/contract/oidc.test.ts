/** The sign-on: access tokens of a real OpenID Connect provider at the REST interface. */
import { fileURLToPath } from 'node:url';
import { hubConfigSchema } from '@workbench-hub/hub/config';
import { exportSPKI, importJWK } from 'jose';
import { describe, expect, it } from 'vitest';
import {
  api,
  as,
  claims,
  expectRefused,
  foreignKey,
  hub,
  LIST,
  oldKey,
  provider,
  RS256,
  runtime,
  signed,
  signOnForEachTest,
  TASKS,
  useOtherHub,
} from '../support/hubs/oidc-for-each-test.js';
import { forged } from '../support/hubs/oidc-provider.js';

const CREATE = `${TASKS}/simulate-work/create`;
const MINUTE_MS = 60_000;

signOnForEachTest();

describe('a caller with a token of the provider', () => {
  it('has the name and role of the token', async () => {
    const token = await provider.token('pipeline');
    const created = await as(token, 'POST', CREATE, { duration: 1 });
    expect(created.status, created.text).toBe(201);
    const id = created.body['id'] as string;
    expect((await as(token, 'GET', `${TASKS}/${id}`)).body).toMatchObject({ creator: 'pipeline' });
    expect((await as(token, 'GET', '/actuator/logfile')).status).toBe(403);
    expect((await as(token, 'DELETE', `${TASKS}/${id}/cancel`)).status).toBe(204);
  });

  it('can read as VIEWER, and refusals name the needed role', async () => {
    const token = await provider.token('auditor');
    expect((await as(token, 'GET', LIST)).status).toBe(200);
    const answer = await as(token, 'POST', CREATE, { duration: 1 });
    expect([answer.status, answer.body['message']]).toEqual([
      403,
      'this requires the role USER; auditor has VIEWER',
    ]);
  });

  it('can cancel tasks of others as ADMIN only', async () => {
    const [boss, pipeline] = [await provider.token('boss'), await provider.token('pipeline')];
    const { body } = await as(boss, 'POST', CREATE, { duration: 1 });
    expect((await as(pipeline, 'DELETE', `${TASKS}/${body['id']}/cancel`)).status).toBe(403);
    const other = await as(pipeline, 'POST', CREATE, { duration: 1 });
    expect((await as(boss, 'DELETE', `${TASKS}/${other.body['id']}/cancel`)).status).toBe(204);
  });

  it.each(['stranger', 'nobody'])('and no known role is refused with that reason: %s', async (client) => {
    await expectRefused(
      await provider.token(client),
      403,
      new RegExp(
        `^the sign-on gives ${client} none of the roles VIEWER, USER, ADMIN: its claim roles has no value`,
      ),
    );
  });

  it('and the name of a local user is refused, and the local user can log in', async () => {
    await useOtherHub({}, { pipeline: ['VIEWER'] });
    await expectRefused(
      await provider.token('pipeline'),
      403,
      /^pipeline is also the name of a local user, so task ownership would be ambiguous/,
    );
    expect((await as(await provider.token('boss'), 'GET', LIST)).status).toBe(200);
    expect((await (await api.asUser('pipeline')).get(LIST)).status).toBe(200);
  });

  it('makes the hub fetch the keys once, for any number of requests', async () => {
    const tokens = await Promise.all(['boss', 'pipeline', 'auditor'].map((client) => provider.token(client)));
    const answers = await Promise.all([...tokens, ...tokens].map((token) => as(token, 'GET', LIST)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
    expect(provider.keyFetches()).toBe(1);
  });
});

describe('the user name of a token', () => {
  it('and its roles come from configured claims and values', async () => {
    await useOtherHub({
      usernameClaim: 'preferred_username',
      rolesClaim: 'realm_access.roles',
      roles: { ADMIN: ['4711'], VIEWER: ['staff', 'guests'] },
    });
    const token = (realmRoles: unknown) =>
      signed(claims({ preferred_username: 'Anna Õ', roles: ['ADMIN'], realm_access: { roles: realmRoles } }));
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

  it.each(['\uff50ipeline', '\u0440ipeline', 'pip\u3164eline'])(
    'that could be mistaken for another is refused and logged: %j',
    async (sub) => {
      await useOtherHub({}, { anna: ['ADMIN'] });
      const shown =
        /^the name "[ -~]*\\u\{[0-9a-f]+\}[ -~]*" that the sign-on gives could be taken for another one/;
      for (let at = 0; at < 3; at++) await expectRefused(await signed(claims({ sub })), 403, shown);
      const warned = hub.log.filter(({ msg }) => msg.startsWith('a name of the sign-on was refused'));
      expect(warned).toEqual([
        expect.objectContaining({ level: 40, name: expect.stringMatching(/^"[ -~]+"$/) }),
      ]);
      const anna = await api.asUser('anna');
      const { entries } = (await anna.get('/api/x/audit?outcome=REFUSED')).body as {
        entries: { detail: string }[];
      };
      expect(entries[0]?.detail).toMatch(/^FORBIDDEN: the name "[ -~]+" that the sign-on gives/);
    },
  );

  it.each(['Ulla', '\u0446ll\u0430', 'ull\u0430', 'uIla'])(
    'that looks like a local user is refused: %j',
    async (sub) => {
      await useOtherHub({}, { ulla: ['USER'] });
      await expectRefused(await signed(claims({ sub })), 403, /could be taken for another one/);
      expect((await as(await signed(claims({ sub: 'ullrich' })), 'GET', LIST)).status).toBe(200);
    },
  );

  it('is the same for composed and decomposed letters', async () => {
    const created = await as(await signed(claims({ sub: 'Jos\u0065\u0301' })), 'POST', CREATE, {
      duration: 1,
    });
    const path = `${TASKS}/${created.body['id']}`;
    expect((await as(await signed(claims({ sub: 'Jos\u00e9' })), 'DELETE', `${path}/cancel`)).status).toBe(
      204,
    );
  });

  it.each([undefined, '', 7, ['pipeline'], 'a\nb', ' a', 'a\u202eb', 'name'.repeat(64)])(
    'must not be %j',
    async (sub) => {
      const token = await signed(claims({ sub }));
      await expectRefused(token, 403, /has no name in its claim sub$/);
    },
  );
});

describe('a token of the provider is refused', () => {
  const good = () => signed(claims());

  it('when its claims are altered', async () => {
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
    await expectRefused(await signed(claims(other)), 401, message);
  });

  it('when the provider issued it for another audience', async () => {
    const token = await provider.token('boss', 'https://wiki.example.org');
    await expectRefused(token, 401, /not for the audience https:\/\/hub\.example\.org/);
  });

  it('when it is signed with a foreign key under the id of the right one', async () => {
    await expectRefused(await forged(claims(), foreignKey.privateKey, RS256), 401, /not signed by a key/);
  });

  it('when it is not signed', async () => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    for (const alg of ['none', 'None', 'NONE', '']) {
      await expectRefused(`${part({ alg, kid: 'first' })}.${part(claims())}.`, 401, /not signed by a key/);
      await expectRefused(`${part({ alg, kid: 'first' })}.${part(claims())}.AAAA`, 401, /not signed by/);
    }
  });

  it('when it is signed with the public key as a shared secret', async () => {
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

  it.each(['x', 'x.y', 'x.y.z', 'e30.e30.e30', 'a'.repeat(15_000)])(
    'when it is not a token: %.20s',
    async (token) => {
      await expectRefused(token, 401, /holds no bearer token of this hub/);
      expect(provider.keyFetches()).toBe(0);
    },
  );

  it('when it has expired, also after it was accepted, except for the clock tolerance', async () => {
    const token = await provider.token('pipeline');
    expect((await as(token, 'GET', LIST)).status).toBe(200);
    runtime.skip(10 * MINUTE_MS + 20_000);
    expect((await as(token, 'GET', LIST)).status).toBe(200);
    runtime.skip(20_000);
    await expectRefused(token, 401, /it has expired; get a new one from the provider$/);
  });
});

describe('the OIDC configuration', () => {
  const faultsOf = (oidc: Record<string, unknown>) =>
    hubConfigSchema
      .safeParse({
        security: { oidc: { issuer: 'https://sso.example.org/realms/main', audience: 'hub', ...oidc } },
      })
      .error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);

  it('accepts https, and http on loopback only', () => {
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

  it('needs issuer and audience, and refuses unknown keys', () => {
    expect(faultsOf({ audience: '' })).toHaveLength(1);
    expect(faultsOf({ issuer: undefined, audience: undefined })).toHaveLength(2);
    expect(faultsOf({ roles: { OPERATOR: ['x'] } })).toHaveLength(1);
    expect(faultsOf({ clockTolerance: '-1s' })).toHaveLength(1);
  });

  it('refuses a certificate file that is missing or empty', async () => {
    await expect(useOtherHub({ ca: '/nowhere/ca.pem' })).rejects.toThrow(
      'the file /nowhere/ca.pem of security.oidc.ca cannot be read (ENOENT)',
    );
    await expect(useOtherHub({ ca: fileURLToPath(import.meta.url) })).rejects.toThrow(
      /of security\.oidc\.ca holds no certificate in PEM$/,
    );
  });
});
