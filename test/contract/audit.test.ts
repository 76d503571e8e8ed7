/** The audit log of a hub with security on: who did what, from where, and with which outcome. */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { AGENT_PATHS } from '@workbench-hub/shared/agent-protocol/messages';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { askToEnroll, enrolled, offerCode } from '../support/agents/agent-enrollment.js';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { HUBS } from '../support/hubs/hubs-under-test.js';
import { passwordOf, type RunningHub, startHub, USERS } from '../support/hubs/running-hub.js';
import { Api, expectError, OFFSET_TIMESTAMP } from '../support/interface/api.js';
import { rawSender } from '../support/interface/raw-request.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const AUDIT = '/api/x/audit';
const TASKS = '/api/2.0/workbench/task';

interface Entry {
  readonly at: string;
  readonly user?: string;
  readonly by?: string;
  readonly address?: string;
  readonly action: string;
  readonly resource: string;
  readonly outcome: string;
  readonly status?: number;
  readonly detail?: string;
}

async function entries(api: Api, query = ''): Promise<Entry[]> {
  const { status, body, text } = await api.get(`${AUDIT}?limit=1000${query}`);
  expect(status, text).toBe(200);
  return body['entries'] as Entry[];
}

/** Entries appear shortly after the response. */
function recorded(api: Api, query: string, fits: (entry: Entry) => boolean = () => true): Promise<Entry> {
  return eventually(async () => (await entries(api, query)).find(fits));
}

describe('the audit log with security on', () => {
  let hub: RunningHub;
  let api: Api;
  let anna: Api;
  let ulla: Api;
  let vera: Api;
  let sender: ReturnType<typeof rawSender>;
  beforeAll(async () => {
    hub = await startHub({ users: USERS, config: { server: { trustedProxies: ['127.0.0.1'] } } });
    api = new Api(hub);
    [anna, ulla, vera] = await Promise.all([api.asUser('anna'), api.asUser('ulla'), api.asUser('vera')]);
    sender = rawSender(hub.address);
  });
  afterAll(async () => {
    sender.close();
    await hub.stop();
  });

  it('records who made a change, from where, on what, and how it ended', async () => {
    const id = await ulla.simulateWork();
    await ulla.delete(`${TASKS}/${id}/cancel`);
    await ulla.delete(`${TASKS}/${id}/cancel`);
    const action = `DELETE ${TASKS}/{id}/cancel`;
    await recorded(anna, `&outcome=FAILED&action=${encodeURIComponent(action)}`);
    const ofTask = (await entries(anna, '&user=ulla')).filter(({ resource }) => resource.includes(id));
    const common = {
      at: expect.stringMatching(OFFSET_TIMESTAMP),
      user: 'ulla',
      by: 'SESSION',
      address: '127.0.0.1',
      action,
      resource: `${TASKS}/${id}/cancel`,
    };
    expect(ofTask).toEqual([
      { ...common, outcome: 'FAILED', status: 409, detail: expect.stringMatching(/^TASK_NOT_CANCELABLE: /) },
      { ...common, outcome: 'ALLOWED', status: 204 },
    ]);
    expect(await recorded(anna, '&user=ulla', ({ action: done }) => done.endsWith('/create'))).toMatchObject({
      outcome: 'ALLOWED',
      status: 201,
      resource: `${TASKS}/simulate-work/create`,
      detail: `task ${id}`,
    });
  });

  it('records logins, refreshes and logouts, also failed ones', async () => {
    const login = await api.post('/api/2.0/auth/login', { username: 'udo', password: passwordOf('udo') });
    const cookie = (answer: { headers: Headers }) => answer.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    const refresh = await api.call('GET', '/api/2.0/auth/refresh', { headers: { cookie: cookie(login) } });
    await api.call('GET', '/api/2.0/auth/logout', { headers: { cookie: cookie(refresh) } });
    await api.call('GET', '/api/2.0/auth/refresh', { headers: { cookie: cookie(refresh) } });
    await api.post('/api/2.0/auth/login', { username: 'udo', password: 'not this one' });
    await recorded(anna, '&user=udo&outcome=REFUSED', ({ action }) => action.endsWith('/login'));
    const told = (await entries(anna, '&user=udo')).map(({ action, by, outcome }) => [action, by, outcome]);
    expect(told.reverse()).toEqual([
      ['POST /api/2.0/auth/login', 'PASSWORD', 'ALLOWED'],
      ['GET /api/2.0/auth/refresh', 'REFRESH_TOKEN', 'ALLOWED'],
      ['GET /api/2.0/auth/logout', 'REFRESH_TOKEN', 'ALLOWED'],
      ['POST /api/2.0/auth/login', undefined, 'REFUSED'],
    ]);
  });

  it('keeps each entry on one line, whatever characters a name has', async () => {
    const username = 'eve\r\n{"user":"anna","outcome":"ALLOWED"}\u2028';
    await api.post('/api/2.0/auth/login', { username, password: 'whatever it is' });
    await recorded(anna, '&outcome=REFUSED', ({ user }) => user === username);
    const lines = (await readFile(join(hub.config.dataDir, 'audit', 'audit.log'), 'utf8'))
      .trimEnd()
      .split(/\r?\n/);
    for (const line of lines) expect(JSON.parse(line)).toHaveProperty('action');
    expect(lines.some((line) => line.startsWith('{"user"'))).toBe(false);
  });

  it('records every refusal, and no permitted read', async () => {
    await api.get(`${TASKS}/list?secret=in-the-query`);
    await vera.post(`${TASKS}/simulate-work/create`, { duration: 0 });
    await vera.get(`${TASKS}/list`);
    await vera.post('/api/x/explain', {});
    const refusal = await recorded(anna, '&user=vera&outcome=REFUSED');
    expect(refusal).toMatchObject({
      status: 403,
      detail: 'FORBIDDEN: this requires the role USER; vera has VIEWER',
    });
    const unknown = await recorded(anna, '&outcome=REFUSED', ({ resource }) => resource === `${TASKS}/list`);
    expect(unknown).toMatchObject({ status: 401, detail: expect.stringMatching(/^UNAUTHENTICATED/) });
    expect(unknown.user).toBeUndefined();
    expect((await entries(anna)).some(({ resource }) => resource.includes('?'))).toBe(false);
    const ofVera = (await entries(anna, '&user=vera')).map(({ action }) => action);
    expect(ofVera).not.toContain(`GET ${TASKS}/list`);
    expect(ofVera).not.toContain('POST /api/x/explain');
  });

  it('records a read that changes something: the renewed expiry of an input file', async () => {
    const path = '/api/2.0/storage/input/audited-file';
    await ulla.get(path);
    await ulla.get(`${path}?renewExpirationTimestamp=true`);
    await recorded(anna, '&user=ulla', ({ resource }) => resource === path);
    const told = (await entries(anna, '&user=ulla')).filter(({ resource }) => resource === path);
    expect(told).toMatchObject([{ outcome: 'ALLOWED', status: 200 }]);
  });

  it('takes the address from a trusted proxy, and not from the client', async () => {
    const answer = await sender.send({
      method: 'DELETE',
      target: `${TASKS}/nobody/cancel`,
      headers: { 'x-forwarded-for': '10.1.2.3, 192.0.2.77', authorization: `Bearer ${ulla.token}` },
    });
    expect(answer.status).toBe(404);
    const entry = await recorded(anna, '&user=ulla', ({ resource }) => resource === `${TASKS}/nobody/cancel`);
    expect(entry.address).toBe('192.0.2.77');
  });

  it('records agents that join, are enrolled, or are refused', async () => {
    const agent = await FakeAgent.join(hub, { id: 'shared-1' });
    const credential = await enrolled(hub, 'own-1');
    const own = await FakeAgent.join(
      { address: hub.address, token: credential },
      { id: 'own-1', instances: [] },
    );
    await expect(FakeAgent.connect({ address: hub.address, token: 'a-wrong-token' })).rejects.toThrow();
    const other = await FakeAgent.connect({ address: hub.address, token: credential }, { id: 'other-1' });
    await other.closed();
    const common = { address: '127.0.0.1', resource: AGENT_PATHS.CONNECT };
    expect(await recorded(anna, '&user=shared-1')).toMatchObject({
      ...common,
      action: 'AGENT_JOIN',
      by: 'AGENT_TOKEN',
    });
    expect(await recorded(anna, '&user=own-1')).toMatchObject({
      ...common,
      action: 'AGENT_JOIN',
      by: 'AGENT_CREDENTIAL',
    });
    expect(await recorded(anna, '&action=AGENT_ENROLLED')).toMatchObject({
      user: 'own-1',
      outcome: 'ALLOWED',
    });
    expect(await recorded(anna, '&user=other-1')).toMatchObject({
      ...common,
      action: 'AGENT_REFUSED',
      outcome: 'REFUSED',
    });
    const stranger = await recorded(anna, '&action=AGENT_REFUSED', ({ user }) => user === undefined);
    expect(stranger).toMatchObject({
      ...common,
      status: 401,
      detail: expect.stringMatching(/agents\.token/),
    });
    for (const joined of [agent, own]) await joined.leave(anna.token);
    expect(await recorded(anna, '&user=own-1&action=AGENT_LEFT')).toMatchObject({
      ...common,
      by: 'AGENT_CREDENTIAL',
      outcome: 'ALLOWED',
    });
  });

  it('records why an agent is refused, at every stage', async () => {
    const refusedFor = (detail: RegExp) =>
      recorded(anna, '&action=AGENT_REFUSED', (entry) => detail.test(String(entry.detail)));
    const code = await offerCode(hub.config.dataDir, 'once-1');
    const body = JSON.stringify({ agentId: 'once-1', code });
    for (const status of [200, 401]) expect((await askToEnroll(hub.address, body)).status).toBe(status);
    expect(await refusedFor(/^enrollment of agent once-1: the code was used before$/)).toMatchObject({
      user: 'once-1',
      resource: AGENT_PATHS.ENROLL,
      status: 401,
    });

    await expect(FakeAgent.connect({ address: hub.address, token: ulla.token ?? '' })).rejects.toThrow('401');
    expect(await refusedFor(/^what it presents is neither agents\.token/)).toMatchObject({ status: 401 });

    const agent = await FakeAgent.join(hub, { id: 'holder-1' });
    const other = await FakeAgent.connect(hub, { id: 'rival-1' });
    await other.closed();
    const taken = await refusedFor(/^the instance id sim-1 is in use by the connected agent holder-1/);
    expect(taken).toMatchObject({ user: 'rival-1', by: 'AGENT_TOKEN', resource: AGENT_PATHS.CONNECT });
    expect(taken.status).toBeUndefined();
    await agent.leave(anna.token);

    const socket = new WebSocket(hub.address.replace('http', 'ws') + AGENT_PATHS.CONNECT, {
      headers: { authorization: `Bearer ${hub.token}` },
    });
    await once(socket, 'open');
    socket.send('no message');
    await once(socket, 'close');
    expect(await refusedFor(/^protocol error: a frame that is not JSON$/)).toMatchObject({
      by: 'AGENT_TOKEN',
    });
  });

  it('is read page by page, newest first', async () => {
    const all = await entries(anna);
    const pages: Entry[] = [];
    for (let before = ''; pages.length < all.length; ) {
      const { body } = await anna.get(
        `${AUDIT}?limit=3&to=${encodeURIComponent('9999-01-01T00:00:00+00:00')}${before}`,
      );
      pages.push(...(body['entries'] as Entry[]));
      before = `&before=${body['next']}`;
    }
    expect(pages.slice(-all.length)).toEqual(all);
    expect(await entries(anna, `&from=${encodeURIComponent(all[0]?.at ?? '')}`)).toContainEqual(all[0]);
    expect(await entries(anna, '&from=9998-01-01T00:00:00Z')).toEqual([]);
    expect(await entries(anna, '&to=2020-01-01T00:00:00+01:00')).toEqual([]);
  });

  it.each([
    ['limit=0', /^limit: must be a whole number from 1 to 1000/],
    ['limit=1001', /^limit: /],
    ['before=x', /^before: must be the "next" of an earlier answer/],
    ['outcome=GOOD', /^outcome: must be one of ALLOWED, REFUSED, FAILED/],
    ['from=yesterday', /^from: must be a timestamp such as/],
    ['to=2026-11-21', /^to: must be a timestamp such as/],
  ])('refuses %s', async (query, message) => {
    expectError(await anna.get(`${AUDIT}?${query}`), 400, AUDIT, message);
  });

  it('is readable for ADMIN only, and its files for the user of the hub', async () => {
    expectError(await ulla.get(AUDIT), 403, AUDIT, /requires the role ADMIN/);
    expectError(await api.get(AUDIT), 401, AUDIT, /a token is required/);
    const folder = join(hub.config.dataDir, 'audit');
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    for (const name of await readdir(folder))
      expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
  });
});

// Each hub has the files of its own entries.
if (HUBS === 1) {
  it('the audit log keeps its entries when a VIEWER is refused often or a USER changes much', async () => {
    const maxFileSize = 16 * 1024;
    const hub = await startHub({ users: USERS, config: { audit: { maxFileSize, keepFiles: 2 } } });
    onTestFinished(() => hub.stop());
    const api = new Api(hub);
    const anna = await api.asUser('anna');
    for (const initiated of [true, false]) {
      await anna.post('/api/2.0/admin/prepare-shutdown/change', { initiated });
    }
    const [vera, ulla] = [await api.asUser('vera'), await api.asUser('ulla')];
    const path = `${TASKS}/${'long'.repeat(400)}`;
    for (let round = 0; round < 10; round++) {
      await Promise.all(Array.from({ length: 40 }, (_, at) => vera.delete(`${path}${at}/cancel`)));
    }
    for (let at = 0; at < 40; at++) await ulla.simulateWork();
    const changes = await eventually(async () => {
      const found = await entries(anna, '&user=ulla');
      return found.length > 0 ? await entries(anna, '&user=anna') : undefined;
    });
    expect(changes.filter(({ action }) => action.endsWith('prepare-shutdown/change'))).toHaveLength(2);
    expect((await entries(anna, '&user=vera&outcome=REFUSED')).length).toBeLessThan(20);
    const folder = join(hub.config.dataDir, 'audit');
    const sizes = await Promise.all(
      (await readdir(folder)).map(async (name) => (await stat(join(folder, name))).size),
    );
    expect(Math.max(...sizes)).toBeLessThanOrEqual(maxFileSize);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(3 * maxFileSize);
  });

  it('the audit log survives a restart, which the next hub records', async () => {
    const folder = await temporaryFolder();
    onTestFinished(folder.remove);
    const first = await startHub({ users: USERS, dataDir: folder.path });
    const id = await (await new Api(first).asUser('ulla')).simulateWork();
    expect(id).not.toBe('');
    await first.stop();
    const file = join(folder.path, 'audit', 'audit.log');
    expect(await readFile(file, 'utf8')).toMatch(/"action":"POST [^"]*\/create"[^\n]*\n$/);
    const second = await startHub({ users: USERS, dataDir: folder.path });
    onTestFinished(() => second.stop());
    const anna = await new Api(second).asUser('anna');
    expect((await entries(anna, '&user=ulla')).map(({ outcome }) => outcome)).toEqual(['ALLOWED', 'ALLOWED']);
  });
}

it('the audit log is not written while security is off', async () => {
  const hub = await startHub();
  onTestFinished(() => hub.stop());
  const api = new Api(hub);
  await api.simulateWork();
  expect(existsSync(join(hub.config.dataDir, 'audit'))).toBe(false);
  expect(await entries(api)).toEqual([]);
});
