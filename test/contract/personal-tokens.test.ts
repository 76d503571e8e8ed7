/** Personal access tokens, from creation to expiry or revocation. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openAccountStore } from '@workbench-hub/hub/store/open-store';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { HandDrivenRuntime } from '../support/engine/hand-driven-runtime.js';
import { HUBS } from '../support/hubs/hubs-under-test.js';
import { AUDIENCE, providerKey, startProvider } from '../support/hubs/oidc-provider.js';
import { type RunningHub, startHub, USERS } from '../support/hubs/running-hub.js';
import { type Answer, Api, expectError, LOCAL_TIMESTAMP } from '../support/interface/api.js';
import { EXPECTED_ROLES } from '../support/interface/expected-roles.js';
import { keptInStore, storeSettingsFor } from '../support/stores/tested-store.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const TOKENS = '/api/x/tokens';
const LIST = '/api/2.0/workbench/task/list';
const DAY_MS = 86_400_000;
const WORTHLESS = /^the personal access token is unknown, revoked or expired; log in to make another/;

let runtime: HandDrivenRuntime;
let folder: TemporaryFolder;
let hub: RunningHub;
let api: Api;
beforeEach(async () => {
  runtime = new HandDrivenRuntime();
  folder = await temporaryFolder();
  await useHub();
});
afterEach(async () => {
  await hub.stop();
  await folder.remove();
});

async function useHub(users: Parameters<typeof startHub>[0] = { users: USERS }): Promise<void> {
  hub = await startHub({ runtime, dataDir: folder.path, ...users });
  api = new Api(hub);
}

async function made(by: Api, request: object = {}): Promise<{ id: string; token: string }> {
  const answer = await by.post(TOKENS, { name: 'nightly build', ...request });
  expect(answer.status, answer.text).toBe(201);
  return answer.body as { id: string; token: string };
}

async function listed(by: Api, query = ''): Promise<Record<string, unknown>[]> {
  const answer = await by.get(`${TOKENS}${query}`);
  expect(answer.status, answer.text).toBe(200);
  return answer.body['content'] as Record<string, unknown>[];
}

function expectWorthless(answer: Answer): void {
  expectError(answer, 401, LIST, WORTHLESS);
  expect(answer.headers.get('www-authenticate')).toBe('Bearer');
}

describe('a personal token', () => {
  it('is shown once, and then has the rights and the name of its user', async () => {
    const ulla = await api.asUser('ulla');
    const answer = await ulla.post(TOKENS, { name: 'nightly build' });
    expect(answer.status).toBe(201);
    expect(answer.body).toEqual({
      id: expect.any(String),
      name: 'nightly build',
      role: 'USER',
      token: expect.stringMatching(/^wbh_[\w-]{43}$/),
      createdDatetime: expect.stringMatching(LOCAL_TIMESTAMP),
      expiresDatetime: expect.stringMatching(LOCAL_TIMESTAMP),
    });
    const { token, createdDatetime, expiresDatetime } = answer.body as Record<string, string>;
    const lifetimeMs = Date.parse(expiresDatetime ?? '') - Date.parse(createdDatetime ?? '');
    expect(Math.round(lifetimeMs / DAY_MS)).toBe(90);
    const script = api.as(token ?? '');
    expect((await script.get('/api/2.0/user')).body).toEqual({ username: 'ulla' });
    const task = await script.simulateWork();
    expect(await script.task(task)).toMatchObject({ creator: 'ulla' });
    expect((await script.get('/actuator/logfile')).status).toBe(403);
  });

  it('can have fewer rights than its user, and never more', async () => {
    const anna = await api.asUser('anna');
    const viewer = api.as((await made(anna, { role: 'viewer' })).token);
    expect((await viewer.get(LIST)).status).toBe(200);
    expect((await viewer.post('/api/2.0/workbench/task/simulate-work/create', { duration: 1 })).status).toBe(
      403,
    );
    const admin = api.as((await made(anna)).token);
    expect((await admin.get('/api/2.0/monitoring/server-info')).status).toBe(200);
    expectError(
      await (await api.asUser('ulla')).post(TOKENS, { name: 'x', role: 'ADMIN' }),
      403,
      TOKENS,
      'role: a token may have at most the role USER, which is yours',
    );
  });

  it('for the metrics reads them and nothing else, as long as its user is an ADMIN', async () => {
    const METRICS = '/actuator/prometheus';
    expectError(
      await (await api.asUser('ulla')).post(TOKENS, { name: 'x', role: 'METRICS' }),
      403,
      TOKENS,
      'role: METRICS requires the role ADMIN; yours is USER',
    );
    const anna = await api.asUser('anna');
    const { id, token } = await made(anna, { role: 'metrics' });
    expect(await listed(anna)).toEqual([expect.objectContaining({ id, role: 'METRICS' })]);
    const scraper = api.as(token);
    expect((await scraper.get(METRICS)).status).toBe(200);
    for (const { method, path, access } of EXPECTED_ROLES) {
      if (access === 'OPEN' || path === METRICS) continue;
      const answer = await scraper.call(method, path.replaceAll(/\{\w+\}/g, 'console'));
      const message = `this requires the role ${access}; this token of anna reads the metrics only`;
      expect([path, answer.status, answer.body['message']]).toEqual([path, 403, message]);
    }
    await hub.stop();
    await useHub({ users: { ...USERS, anna: ['USER'] } });
    expectError(
      await api.as(token).get(METRICS),
      403,
      METRICS,
      'this requires the role ADMIN; anna has no role',
    );
  });

  it('loses rights at once when its user does, and all of them when its user is removed', async () => {
    const anna = await api.asUser('anna');
    const { token } = await made(anna);
    await hub.stop();
    await useHub({ users: { ...USERS, anna: ['VIEWER'] } });
    const script = api.as(token);
    expect((await script.get(LIST)).status).toBe(200);
    expect((await script.get('/api/2.0/monitoring/server-info')).status).toBe(403);
    await hub.stop();
    const { anna: _, ...others } = USERS;
    await useHub({ users: others });
    expectWorthless(await api.as(token).get(LIST));
    await hub.stop();
    await useHub();
    expectWorthless(await api.as(token).get(LIST));
    expect(await listed(await api.asUser('anna'))).toEqual([]);
  });

  it('is refused at once when a command disables its user, and for good when its user is removed', async () => {
    const { token } = await made(await api.asUser('ulla'));
    const script = api.as(token);
    const { users, close } = await openAccountStore(await storeSettingsFor(folder.path), systemRuntime);
    onTestFinished(close);
    await users.change('ulla', { disabled: true, endSessions: true });
    expectWorthless(await script.get(LIST));
    await users.change('ulla', { disabled: false, roles: ['VIEWER'], endSessions: false });
    expect((await script.get(LIST)).status).toBe(200);
    expect((await script.delete('/api/2.0/workbench/task/x/cancel')).status).toBe(403);
    await users.change('ulla', { roles: [], endSessions: false });
    expectError(await script.get(LIST), 403, LIST, 'this requires the role VIEWER; ulla has no role');
    const ulla = await users.find('ulla');
    await users.remove('ulla');
    expectWorthless(await script.get(LIST));
    if (ulla) await users.add({ ...ulla, roles: ['ADMIN'] });
    expectWorthless(await script.get(LIST));
  });

  it('expires, and is then no longer listed nor kept', async () => {
    const ulla = await api.asUser('ulla');
    const { token } = await made(ulla, { expiresInDays: 1 });
    const longer = await made(ulla, { expiresInDays: 366 });
    runtime.skip(DAY_MS - 1);
    expect((await api.as(token).get(LIST)).status).toBe(200);
    runtime.skip(1);
    expectWorthless(await api.as(token).get(LIST));
    const again = await api.asUser('ulla');
    expect(await listed(again)).toEqual([expect.objectContaining({ id: longer.id })]);
    await runtime.advance(61_000);
    expect((await api.as(longer.token).get(LIST)).status).toBe(200);
  });

  it('is revoked at once and for good, across a restart', async () => {
    const ulla = await api.asUser('ulla');
    const [gone, kept] = [await made(ulla), await made(ulla)];
    const answer = await ulla.delete(`${TOKENS}/${gone.id}`);
    expect([answer.status, answer.text]).toEqual([204, '']);
    expectWorthless(await api.as(gone.token).get(LIST));
    await hub.stop();
    await useHub();
    expectWorthless(await api.as(gone.token).get(LIST));
    expect((await api.as(kept.token).get(LIST)).status).toBe(200);
    expectError(
      await (await api.asUser('ulla')).delete(`${TOKENS}/${gone.id}`),
      404,
      `${TOKENS}/${gone.id}`,
      `there is no personal access token with the id "${gone.id}" that is yours; ${TOKENS} lists those`,
    );
  });

  it.each(['wbh_', 'wbh_x', `wbh_${'A'.repeat(43)}`, `wbh_${'A'.repeat(15_000)}`])(
    'that was never issued is refused: %.20s',
    async (token) => expectWorthless(await api.as(token).get(LIST)),
  );

  it('is refused at the paths of agents', async () => {
    const { token } = await made(await api.asUser('anna'));
    const response = await fetch(`${hub.address}/agent/files/${'0'.repeat(64)}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(response.status).toBe(401);
    await response.body?.cancel();
  });
});

describe('the list of personal tokens', () => {
  // The last use is shown by other hubs half a minute later.
  if (HUBS === 1) {
    it('has the latest first, with the last use of each, also after a restart', async () => {
      const ulla = await api.asUser('ulla');
      const first = await made(ulla, { name: 'first' });
      runtime.skip(1000);
      const second = await made(ulla, { name: 'second', role: 'VIEWER' });
      expect(await listed(ulla)).toEqual([
        {
          id: second.id,
          name: 'second',
          role: 'VIEWER',
          createdDatetime: expect.stringMatching(LOCAL_TIMESTAMP),
          expiresDatetime: expect.stringMatching(LOCAL_TIMESTAMP),
        },
        expect.objectContaining({ id: first.id, name: 'first' }),
      ]);
      await api.as(first.token).get(LIST);
      const [, used] = await listed(ulla);
      expect(used?.['lastUsedDatetime']).toMatch(LOCAL_TIMESTAMP);
      await hub.stop();
      await useHub();
      expect((await listed(await api.asUser('ulla')))[1]).toEqual(used);
      expect((await (await api.asUser('ulla')).get(`${TOKENS}?size=1&page=1`)).body).toMatchObject({
        totalElements: 2,
        size: 1,
        content: [{ id: first.id }],
      });
    });
  }

  it('shows the tokens of the caller; an ADMIN sees and revokes those of others', async () => {
    const [ulla, udo, anna] = [await api.asUser('ulla'), await api.asUser('udo'), await api.asUser('anna')];
    const { id, token } = await made(ulla);
    expect(await listed(udo)).toEqual([]);
    expect(await listed(anna)).toEqual([]);
    expect(await listed(ulla, '?user=ulla')).toHaveLength(1);
    expectError(
      await udo.get(`${TOKENS}?user=ulla`),
      403,
      TOKENS,
      "another user's tokens are shown to the role ADMIN only",
    );
    const path = `${TOKENS}/${id}`;
    expectError(await udo.delete(path), 404, path, /^there is no personal access token with the id/);
    expect(await listed(anna, '?user=ulla')).toEqual([expect.objectContaining({ id })]);
    expect((await anna.delete(path)).status).toBe(204);
    expectWorthless(await api.as(token).get(LIST));
  });

  it('has at most 100 tokens', async () => {
    const ulla = await api.asUser('ulla');
    const [first] = await Promise.all(Array.from({ length: 100 }, () => made(ulla)));
    expectError(
      await ulla.post(TOKENS, { name: 'one more' }),
      409,
      TOKENS,
      /^you have 100 personal access tokens, which is the most: revoke some/,
    );
    await ulla.delete(`${TOKENS}/${first?.id}`);
    await made(ulla);
  });
});

describe('personal tokens are created and revoked', () => {
  it('with a session, not with another personal token', async () => {
    const anna = await api.asUser('anna');
    const { token } = await made(anna);
    const { id } = await made(anna);
    const script = api.as(token);
    expectError(
      await script.post(TOKENS, { name: 'a child' }),
      403,
      TOKENS,
      'a personal access token cannot make tokens: log in at /api/2.0/auth/login for that',
    );
    expectError(
      await script.delete(`${TOKENS}/${id}`),
      403,
      `${TOKENS}/${id}`,
      /cannot revoke other tokens: log in/,
    );
    expect(await listed(script)).toHaveLength(2);
  });

  it('by itself, so that a program can log out', async () => {
    const { id, token } = await made(await api.asUser('anna'));
    const script = api.as(token);
    expect((await script.delete(`${TOKENS}/${id}`)).status).toBe(204);
    expect((await script.get(TOKENS)).status).toBe(401);
  });

  it('not by users of the OIDC sign-on, whose roles the provider keeps', async () => {
    const provider = await startProvider({
      keys: [await providerKey('a', 'ES256')],
      clients: { boss: ['ADMIN'] },
    });
    const oidc = { issuer: provider.issuer, audience: AUDIENCE };
    await hub.stop();
    runtime = new HandDrivenRuntime(Date.now());
    await useHub({ users: USERS, config: { security: { oidc } } });
    const boss = api.as(await provider.token('boss'));
    expectError(
      await boss.post(TOKENS, { name: 'x' }),
      403,
      TOKENS,
      'boss comes from the sign-on, and so do the roles: a script gets tokens there, by client credentials',
    );
    const { id } = await made(await api.asUser('ulla'));
    expect(await listed(boss, '?user=ulla')).toHaveLength(1);
    expect((await boss.delete(`${TOKENS}/${id}`)).status).toBe(204);
    await provider.stop();
  });

  it('not while security is off', async () => {
    await hub.stop();
    await useHub({});
    expectError(
      await api.post(TOKENS, { name: 'x' }),
      403,
      TOKENS,
      'security is off: there is no user to make a token for, and none is asked for',
    );
    expect(await listed(api)).toEqual([]);
    expectError(
      await api.delete(`${TOKENS}/x`),
      404,
      `${TOKENS}/x`,
      /^there is no personal access token with the id "x" that/,
    );
  });

  it.each([
    [{ name: '' }, /^name: must be 1 to 100 visible characters/],
    [{ name: ' a' }, /^name: must be 1 to 100 visible characters/],
    [{ name: 'a\nb' }, /^name: must be 1 to 100 visible characters/],
    [{ name: 'x'.repeat(101) }, /^name: must be 1 to 100 visible characters/],
    [{ name: 'x', expiresInDays: 0 }, /^expiresInDays: must be at least 1$/],
    [{ name: 'x', expiresInDays: 367 }, /^expiresInDays: must be at most 366$/],
    [{ name: 'x', expiresInDays: '7' }, /^expiresInDays: must be/],
    [{ name: 'x', role: 'OPERATOR' }, /^role: must be one of VIEWER, USER, ADMIN, METRICS$/],
  ])('with good input only, not %j', async (request, message) => {
    expectError(await (await api.asUser('ulla')).post(TOKENS, request), 400, TOKENS, message);
  });
});

it('the secret of a personal token is in no list, log or file of the hub, nor in its store', async () => {
  const ulla = await api.asUser('ulla');
  const { id, token } = await made(ulla);
  await api.as(token).get(LIST);
  const secret = token.slice('wbh_'.length);
  expect((await ulla.get(TOKENS)).text).not.toContain(secret);
  await ulla.delete(`${TOKENS}/${id}`);
  await api.as(token).get(LIST);
  await hub.stop();
  expect(JSON.stringify(hub.log)).not.toContain(secret);
  const names = await readdir(folder.path, { recursive: true, withFileTypes: true });
  const files = names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  for (const file of files) expect(await readFile(file, 'latin1'), file).not.toContain(secret);
  const kept = await keptInStore(folder.path);
  expect(kept).toContain('ulla');
  expect(kept).not.toContain(secret);
});
