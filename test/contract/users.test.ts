/** Administration of users at the interface (contract 12.38). */
import { Users } from '@workbench-hub/hub/engine/accounts/users';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { api, hub, hubForEachTest, ownHub } from '../support/hubs/hub-for-tests.js';
import { AUTH, logIn, refresh, statusFor } from '../support/hubs/login.js';
import { passwordOf, quickPasswords, USERS } from '../support/hubs/running-hub.js';
import { type Answer, type Api, expectError, LOCAL_TIMESTAMP } from '../support/interface/api.js';
import { keptInStore, withAccountsOf } from '../support/stores/tested-store.js';

const PATH = '/api/x/users';
const LIST = '/api/2.0/workbench/task/list';

hubForEachTest({ users: USERS });

let anna: Api;
beforeEach(async () => {
  anna = await api.asUser('anna');
});

async function listed(by = anna): Promise<Record<string, unknown>[]> {
  const answer = await by.get(PATH);
  expect(answer.status, answer.text).toBe(200);
  return answer.body['content'] as Record<string, unknown>[];
}

const shown = async (username: string) => (await listed()).find((user) => user['username'] === username);

const add = (username: string, roles: readonly string[], password = passwordOf(username)) =>
  anna.post(PATH, { username, password, roles });

async function added(username: string, roles: readonly string[]): Promise<void> {
  const answer = await add(username, roles);
  expect(answer.status, answer.text).toBe(201);
}

const change = (username: string, json: object, by = anna) =>
  by.call('PATCH', `${PATH}/${username}`, { json });

const loginStatus = async (username: string, password = passwordOf(username)) =>
  (await api.post(AUTH.LOGIN, { username, password })).status;

/** Effect of `workbench-hub user …`. */
const byCommand = (action: (users: Users) => Promise<void>) =>
  withAccountsOf(hub.config.dataDir, ({ users: store }) =>
    action(new Users({ store, passwords: quickPasswords, clock: systemRuntime.clock })),
  );

function expectRefused(answer: Answer, code: string, path: string, message: string | RegExp): void {
  expectError(answer, code.endsWith('NOT_FOUND') ? 404 : 409, path, message);
  expect(answer.headers.get('x-error-code')).toBe(code);
}

describe('the list of users', () => {
  it('has those of the configuration and of commands, by name, and nothing of their passwords', async () => {
    await byCommand((users) => users.add('carl', passwordOf('carl'), ['VIEWER']));
    const answer = await anna.get(PATH);
    expect(answer.text).not.toContain('scrypt');
    const common = { disabled: false, createdDatetime: expect.stringMatching(LOCAL_TIMESTAMP) };
    const none = { ...common, sessions: 0 };
    expect(answer.body['content']).toEqual([
      {
        ...common,
        username: 'anna',
        roles: ['ADMIN'],
        origin: 'CONFIGURATION',
        sessions: 1,
        latestLoginDatetime: expect.stringMatching(LOCAL_TIMESTAMP),
      },
      { ...none, username: 'carl', roles: ['VIEWER'], origin: 'HUB' },
      { ...none, username: 'udo', roles: ['USER'], origin: 'CONFIGURATION' },
      { ...none, username: 'ulla', roles: ['USER'], origin: 'CONFIGURATION' },
      { ...none, username: 'vera', roles: ['VIEWER'], origin: 'CONFIGURATION' },
    ]);
    expect((await anna.get(`${PATH}?page=1&size=2`)).body).toMatchObject({
      content: [{ username: 'udo' }, { username: 'ulla' }],
      totalElements: 5,
    });
  });

  it('counts sessions as they begin and end', async () => {
    const { accessToken } = await logIn(api, 'ulla');
    await logIn(api, 'ulla');
    expect(await shown('ulla')).toMatchObject({ sessions: 2, latestLoginDatetime: expect.any(String) });
    expect((await anna.call('DELETE', `${PATH}/ulla/sessions`)).status).toBe(204);
    expect(await shown('ulla')).not.toHaveProperty('latestLoginDatetime');
    expect(await statusFor(api, accessToken)).toBe(401);
  });
});

describe('a user who is added', () => {
  it('logs in with the password and has the roles', async () => {
    const answer = await add('nina', ['viewer', 'USER', 'USER']);
    expect(answer.status, answer.text).toBe(201);
    expect(answer.body).toEqual({
      username: 'nina',
      roles: ['VIEWER', 'USER'],
      origin: 'HUB',
      disabled: false,
      createdDatetime: expect.stringMatching(LOCAL_TIMESTAMP),
      sessions: 0,
    });
    const nina = await api.asUser('nina');
    expect((await nina.get('/api/x/caller')).body).toMatchObject({ username: 'nina', by: 'SESSION' });
    await nina.simulateWork();
    expect((await nina.get(PATH)).status).toBe(403);
  });

  it('has a name that no other has, from the configuration or not', async () => {
    await added('nina', ['USER']);
    for (const name of ['nina', 'vera']) {
      const message = `there is a user ${name} already: set the password of that one`;
      expectRefused(await add(name, ['ADMIN'], 'another password'), 'USER_EXISTS', PATH, message);
      expect(await loginStatus(name)).toBe(200);
    }
  });

  it.each([
    ['a name with a slash', { username: 'a/b' }, /^username: must have 1 to 64 letters, digits/],
    ['a short password', { password: 'secret!' }, /^password: must have 8 to 1024 characters/],
    ['a password with a line break', { password: 'one line\nand another' }, /^password: must have 8 to 1024/],
    ['no role', { roles: [] }, /^roles: must be at least 1 items long/],
    ['an unknown role', { roles: ['METRICS'] }, 'roles[0]: must be one of VIEWER, USER, ADMIN'],
  ])('has not %s', async (_, wrong, message) => {
    const answer = await anna.post(PATH, {
      username: 'nina',
      password: passwordOf('nina'),
      roles: ['USER'],
      ...wrong,
    });
    expectError(answer, 400, PATH, message);
    expect(await shown('nina')).toBeUndefined();
  });
});

describe('the change of a user', () => {
  beforeEach(() => added('nina', ['USER']));

  it('of the roles takes effect with the next request, and keeps the session', async () => {
    const nina = await api.asUser('nina');
    expect((await change('nina', { roles: ['VIEWER'] })).body).toMatchObject({
      roles: ['VIEWER'],
      disabled: false,
      sessions: 1,
    });
    expect((await nina.get(LIST)).status).toBe(200);
    expect((await nina.post('/api/x/tasks', { type: 'SIMULATE_WORK', duration: 0 })).status).toBe(403);
  });

  it('that disables ends sessions, tokens and logins, until it is undone', async () => {
    const { accessToken, cookie } = await logIn(api, 'nina');
    const made = await api.as(accessToken).post('/api/x/tokens', { name: 'nightly' });
    const token = String(made.body['token']);
    expect((await change('nina', { disabled: true })).body).toMatchObject({ disabled: true, sessions: 0 });
    for (const each of [accessToken, token]) expect(await statusFor(api, each)).toBe(401);
    expect((await refresh(api, cookie)).status).toBe(401);
    expect(await loginStatus('nina')).toBe(401);
    expect((await change('nina', { disabled: false })).status).toBe(200);
    expect(await statusFor(api, accessToken)).toBe(401);
    expect(await statusFor(api, token)).toBe(200);
    expect(await loginStatus('nina')).toBe(200);
  });

  it('of the password ends the sessions', async () => {
    const { accessToken } = await logIn(api, 'nina');
    const password = 'another password of nina';
    expect((await anna.post(`${PATH}/nina/password`, { password })).status).toBe(204);
    expect(await statusFor(api, accessToken)).toBe(401);
    expect([await loginStatus('nina'), await loginStatus('nina', password)]).toEqual([401, 200]);
  });

  it('has to change something', async () => {
    expectError(await change('nina', {}), 400, `${PATH}/nina`, 'body: must have roles, disabled or both');
  });

  it('is not possible for one whom there is not', async () => {
    const message = 'there is no user "nobody": /api/x/users lists all';
    const missing = 'USER_NOT_FOUND';
    expectRefused(await change('nobody', { disabled: true }), missing, `${PATH}/nobody`, message);
    const password = await anna.post(`${PATH}/nobody/password`, { password: passwordOf('nobody') });
    expectRefused(password, missing, `${PATH}/nobody/password`, message);
    const sessions = await anna.call('DELETE', `${PATH}/nobody/sessions`);
    expectRefused(sessions, missing, `${PATH}/nobody/sessions`, message);
  });

  it('of the configuration is made there only', async () => {
    const message =
      'vera comes from the configuration (security.users): change it there, and reload or restart the hub';
    expectRefused(await change('vera', { roles: ['ADMIN'] }), 'USER_CONFIGURED', `${PATH}/vera`, message);
    const password = await anna.post(`${PATH}/vera/password`, { password: 'another password' });
    expectRefused(password, 'USER_CONFIGURED', `${PATH}/vera/password`, message);
    expect(await loginStatus('vera')).toBe(200);
  });
});

describe('administrators', () => {
  it('do not shut themselves out', async () => {
    await added('nina', ['ADMIN']);
    const nina = await api.asUser('nina');
    const message = 'nina is you: another administrator can disable you, or take the role ADMIN from you';
    for (const json of [{ disabled: true }, { roles: ['USER'] }])
      expectRefused(await change('nina', json, nina), 'OWN_USER', `${PATH}/nina`, message);
    expect((await change('nina', { roles: ['USER', 'ADMIN'] }, nina)).status).toBe(200);
    expect((await change('nina', { roles: ['USER'] })).body).toMatchObject({ roles: ['USER'] });
    expect((await change('anna', { disabled: true }, nina)).status).toBe(403);
  });

  it('do not shut each other out when both try at once', async () => {
    const { hub: another, api: stranger } = await ownHub({ users: { vera: ['VIEWER'] } });
    await withAccountsOf(another.config.dataDir, async ({ users: store }) => {
      const users = new Users({ store, passwords: quickPasswords, clock: systemRuntime.clock });
      for (const name of ['nina', 'otto']) await users.add(name, passwordOf(name), ['ADMIN']);
    });
    const [nina, otto] = [await stranger.asUser('nina'), await stranger.asUser('otto')];
    const answers = await Promise.all([
      change('otto', { disabled: true }, nina),
      change('nina', { roles: ['USER'] }, otto),
    ]);
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    // The slower one is no administrator any more, or may not take the last one away.
    expect([401, 403, 409]).toContain(statuses.find((status) => status !== 200));
  });

  it('see the tokens of a user and revoke them', async () => {
    const { body } = await (await api.asUser('ulla')).post('/api/x/tokens', { name: 'nightly' });
    const { content } = (await anna.get('/api/x/tokens?user=ulla')).body as { content: { id: string }[] };
    expect(content).toEqual([expect.objectContaining({ id: body['id'], name: 'nightly' })]);
    expect((await anna.call('DELETE', `/api/x/tokens/${content[0]?.id}`)).status).toBe(204);
    expect(await statusFor(api, String(body['token']))).toBe(401);
  });

  it('do not change users by a personal token, which could outlive itself so', async () => {
    const { body } = await anna.post('/api/x/tokens', { name: 'nightly' });
    const script = api.as(String(body['token']));
    expect((await script.get(PATH)).status).toBe(200);
    const password = passwordOf('nina');
    for (const [method, path, json] of [
      ['POST', PATH, { username: 'nina', password, roles: ['ADMIN'] }],
      ['PATCH', `${PATH}/vera`, { disabled: true }],
      ['POST', `${PATH}/vera/password`, { password }],
      ['DELETE', `${PATH}/vera/sessions`, undefined],
    ] as const) {
      const answer = await script.call(method, path, json === undefined ? {} : { json });
      expectError(answer, 403, path, /^a personal access token cannot change users: log in at/);
    }
  });
});

it('changes of users are in the audit log, and passwords neither there nor in the store', async () => {
  await added('nina', ['USER']);
  await change('nina', { roles: ['VIEWER'], disabled: true });
  const password = 'another password of nina';
  await anna.post(`${PATH}/nina/password`, { password });
  await change('vera', { disabled: true });
  const entries = await eventually(async () => {
    const { body } = await anna.get('/api/x/audit?user=anna');
    const all = (body['entries'] as Record<string, unknown>[]).filter(({ action }) =>
      String(action).includes(PATH),
    );
    return all.length === 4 ? all : undefined;
  });
  const common = { user: 'anna', by: 'SESSION' };
  const one = `${PATH}/{name}`;
  expect(entries).toMatchObject([
    { ...common, action: `PATCH ${one}`, resource: `${PATH}/vera`, outcome: 'FAILED', status: 409 },
    { ...common, action: `POST ${one}/password`, resource: `${PATH}/nina/password`, outcome: 'ALLOWED' },
    { ...common, action: `PATCH ${one}`, resource: `${PATH}/nina`, detail: 'roles VIEWER; disabled' },
    { ...common, action: `POST ${PATH}`, detail: 'user nina: roles USER', status: 201 },
  ]);
  const kept = (await keptInStore(hub.config.dataDir)) + JSON.stringify([entries, hub.log]);
  for (const secret of [password, passwordOf('nina')]) expect(kept).not.toContain(secret);
});

it('a hub without security has no users to administer', async () => {
  const { api: open } = await ownHub();
  const message = /^security is off: there are no users, and everybody may do everything/;
  expectError(await open.get(PATH), 403, PATH, message);
  const nina = { username: 'nina', password: passwordOf('nina'), roles: ['ADMIN'] };
  expectError(await open.post(PATH, nina), 403, PATH, message);
});
