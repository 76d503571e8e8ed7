/** Requests that take long are authorized again: a caller who was disabled, or lost session, token or role meanwhile, gets
 *  nothing. */
import { connect } from 'node:net';
import type { UserChange } from '@workbench-hub/hub/core/ports/accounts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { HandDrivenRuntime } from '../support/engine/hand-driven-runtime.js';
import { eventually } from '../support/eventually.js';
import { logIn, logOut } from '../support/hubs/login.js';
import { type RunningHub, startHub, USERS } from '../support/hubs/running-hub.js';
import { type Answer, Api, base64, expectError } from '../support/interface/api.js';
import { formWithFile } from '../support/interface/forms.js';
import { begin, UPLOADS } from '../support/interface/resumable-uploads.js';
import { withAccountsOf } from '../support/stores/tested-store.js';

const TASKS = '/api/2.0/workbench/task';
const TOKENS = '/api/x/tokens';
const CREATE = `${TASKS}/simulate-work/create`;
const UPLOAD = '/api/2.0/storage/input/upload';
const LONG_MS = 2000;

let runtime: HandDrivenRuntime;
let hub: RunningHub;
let anonymous: Api;
let anna: Api;
beforeEach(async () => {
  runtime = new HandDrivenRuntime();
  hub = await startHub({ runtime, users: USERS });
  anonymous = new Api(hub);
  anna = await anonymous.asUser('anna');
});
afterEach(() => hub.stop());

/** As a command of the operator does it, beside the running hub. */
async function change(username: string, to: UserChange): Promise<void> {
  const isChanged = await withAccountsOf(hub.config.dataDir, ({ users }) => users.change(username, to));
  expect(isChanged).toBe(true);
}

const disable = (username: string) => change(username, { disabled: true, endSessions: true });

const resultOf = (id: string) => `${TASKS}/simulate-work/${id}/result`;

/** Waits for the end of a task of Anna's; `meanwhile` happens before that. */
async function poll(
  caller: Api,
  meanwhile: () => Promise<unknown>,
): Promise<{ answer: Answer; path: string }> {
  const id = await anna.simulateWork();
  const timers = runtime.pendingTimers;
  const answer = caller.get(`${resultOf(id)}?timeout=86400`);
  await eventually(() => runtime.pendingTimers > timers);
  await meanwhile();
  expect((await (await anonymous.asUser('anna')).delete(`${TASKS}/${id}/cancel`)).status).toBe(204);
  return { answer: await answer, path: resultOf(id) };
}

const ENDED = 'the session of this access token has ended: log in again';

describe('a long poll', () => {
  it('is answered normally when nothing has changed', async () => {
    const { answer } = await poll(await anonymous.asUser('ulla'), async () => undefined);
    expect(answer.body).toMatchObject({ status: 'CANCELED' });
  });

  it('is answered when the access token or the session has only expired meanwhile', async () => {
    const ofSession = await poll(await anonymous.asUser('ulla'), async () => runtime.skip(16 * 60_000));
    expect(ofSession.answer.body).toMatchObject({ status: 'CANCELED' });
    const login = { username: 'ulla', password: 'the password of ulla' };
    const { body } = await anonymous.post('/api/1.0/auth/login', login);
    const once = anonymous.as(body['accessToken'] as string);
    anna = await anonymous.asUser('anna');
    const ofLogInOnce = await poll(once, async () => runtime.skip(16 * 60_000));
    expect(ofLogInOnce.answer.body).toMatchObject({ status: 'CANCELED' });
  });

  it('is refused to a user who was disabled meanwhile, and the audit log records it', async () => {
    const { answer, path } = await poll(await anonymous.asUser('ulla'), () => disable('ulla'));
    expectError(answer, 401, path, ENDED);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    await eventually(async () => {
      const { body } = await anna.get('/api/x/audit?outcome=REFUSED');
      return (body['entries'] as { resource: string; status: number }[]).some(
        ({ resource, status }) => resource === path && status === 401,
      );
    });
  });

  it('is refused when the session was ended meanwhile', async () => {
    const { accessToken, cookie } = await logIn(anonymous, 'ulla');
    const { answer, path } = await poll(anonymous.as(accessToken), () => logOut(anonymous, cookie));
    expectError(answer, 401, path, ENDED);
  });

  it('is refused to a user who lost the role meanwhile', async () => {
    const { answer, path } = await poll(await anonymous.asUser('ulla'), () =>
      change('ulla', { roles: [], endSessions: false }),
    );
    expectError(answer, 403, path, 'this requires the role VIEWER; ulla has no role');
  });

  it('is refused when the personal token was revoked, or its user disabled meanwhile', async () => {
    const ulla = await anonymous.asUser('ulla');
    const made = async () =>
      (await ulla.post(TOKENS, { name: 'script' })).body as { id: string; token: string };
    const revoked = await made();
    const ofRevoked = await poll(anonymous.as(revoked.token), () => ulla.delete(`${TOKENS}/${revoked.id}`));
    expectError(
      ofRevoked.answer,
      401,
      ofRevoked.path,
      /^the personal access token is unknown, revoked or expired/,
    );
    const { token } = await made();
    const ofDisabled = await poll(anonymous.as(token), () => disable('ulla'));
    expectError(
      ofDisabled.answer,
      401,
      ofDisabled.path,
      /^the personal access token is unknown, revoked or expired/,
    );
  });
});

it('a response that waits for an agent is refused to a user who was disabled meanwhile', async () => {
  const agent = await FakeAgent.join(hub);
  const path = '/api/2.0/workbench/node/instance/sim-1/log/console';
  const answer = (await anonymous.asUser('ulla')).get(path);
  const { requestId } = await agent.hear('request');
  runtime.skip(LONG_MS);
  await disable('ulla');
  agent.say({ type: 'reply', requestId, error: null, text: 'what the instance printed' });
  expectError(await answer, 401, path, ENDED);
  await agent.leave();
});

/** Sends the second half of a body when the hub has asked for it and `meanwhile` has happened; gives the status. */
async function sendInHalves(
  { token = '' }: Api,
  path: string,
  {
    raw,
    contentType,
    method = 'POST',
    headers = [],
    address = hub.address,
  }: {
    raw: Buffer;
    contentType: string;
    method?: string;
    headers?: readonly string[];
    address?: string;
  },
  meanwhile: () => Promise<unknown>,
): Promise<number> {
  const { hostname, port } = new URL(address);
  let heard = '';
  const socket = connect(Number(port), hostname);
  socket.on('data', (piece) => (heard += piece.toString('latin1')));
  socket.on('error', () => undefined);
  try {
    const head = [
      `${method} ${path} HTTP/1.1`,
      'Host: localhost',
      `Authorization: Bearer ${token}`,
      `Content-Type: ${contentType}`,
      `Content-Length: ${raw.length}`,
      'Expect: 100-continue',
      ...headers,
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    await eventually(() => heard === 'HTTP/1.1 100 Continue\r\n\r\n');
    heard = '';
    const half = Math.floor(raw.length / 2);
    socket.write(raw.subarray(0, half));
    await meanwhile();
    socket.write(raw.subarray(half));
    return Number((await eventually(() => /^HTTP\/1\.1 (\d+)/.exec(heard) ?? undefined))[1]);
  } finally {
    socket.destroy();
  }
}

/** Begins a resumable upload of 1000 bytes; gives its path, and the part that completes it. */
async function begunUpload({ token = '' }: Api, filename: string, query = '') {
  const raw = Buffer.alloc(1000, 'x');
  // The parts of an upload belong to the hub at which it began.
  const [address = hub.address] = hub.addresses;
  const begun = await begin({ filename }, raw.length, { query, api: new Api({ address }).as(token) });
  const path = new URL(begun.headers.get('location') ?? '', address + UPLOADS).pathname;
  const headers = ['Tus-Resumable: 1.0.0', 'Upload-Offset: 0'];
  const contentType = 'application/offset+octet-stream';
  return { path, part: { raw, contentType, method: 'PATCH', headers, address } };
}

describe('a slow request body', () => {
  const json = { raw: Buffer.from('{"duration": 1}'), contentType: 'application/json' };
  const late = async () => {
    runtime.skip(LONG_MS);
    await disable('ulla');
  };

  it('creates a task normally when nothing has changed', async () => {
    const ulla = await anonymous.asUser('ulla');
    expect(await sendInHalves(ulla, CREATE, json, async () => runtime.skip(LONG_MS))).toBe(201);
  });

  it('creates no task when its user was disabled meanwhile', async () => {
    expect(await sendInHalves(await anonymous.asUser('ulla'), CREATE, json, late)).toBe(401);
    expect((await anna.get(`${TASKS}/list`)).body).toMatchObject({ totalElements: 0 });
  });

  it('stores no file when its user was disabled meanwhile', async () => {
    const { raw, headers } = formWithFile('late.bin', 'x'.repeat(1000));
    const form = { raw, contentType: headers['content-type'] };
    expect(await sendInHalves(await anonymous.asUser('ulla'), UPLOAD, form, late)).toBe(401);
    expect((await anna.get('/api/2.0/storage/input/late.bin')).body).toEqual({ exists: false });
  });

  it.each([
    ['ends a resumable upload when nothing has changed', async () => runtime.skip(LONG_MS), 204, true],
    ['names no file of a resumable upload when its user was disabled meanwhile', late, 401, false],
  ])('%s', async (_, meanwhile, status, exists) => {
    const ulla = await anonymous.asUser('ulla');
    const { path, part } = await begunUpload(ulla, 'late.bin');
    expect(await sendInHalves(ulla, path, part, meanwhile)).toBe(status);
    expect((await anna.get('/api/2.0/storage/input/late.bin')).body).toEqual({ exists });
  });
});

describe('an administrator who is made USER while the body arrives', () => {
  const INVALIDATIONS = '/api/x/invalidations';
  const STUDIES = '/api/x/studies';
  const plan = { kind: 'LIST', points: [{ speed: 1 }] };
  const demote = async () => {
    runtime.skip(LONG_MS);
    await change('anna', { roles: ['USER'], endSessions: false });
  };
  /** A study of the caller. */
  const studyOf = async (caller: Api) => {
    const inputScripts = [{ content: base64('run()') }];
    const variables = [{ name: 'speed', unit: '1/min', lower: 0, upper: 5000 }];
    const request = { name: 'bearing', inputScripts, variables, values: [], plan: { kind: 'OPEN' } };
    const { status, body, text } = await caller.post(STUDIES, request);
    expect(status, text).toBe(201);
    return `${STUDIES}/${body['id']}`;
  };

  it.each([
    ['deletes no tasks', '/api/x/tasks/delete', { filter: {}, dryRun: false }, 200],
    ['cancels no tasks', '/api/x/tasks/cancel', { filter: {}, dryRun: false, force: true }, 200],
    ['adds no points to studies', 'points', { plan }, 403],
    ['tries no points of studies again', 'retry', { outcomes: ['CANCELED'] }, 403],
    [
      'makes no results of an instance invalid',
      INVALIDATIONS,
      { kind: 'INSTANCE', instanceId: 'sim-1' },
      403,
    ],
    [
      'makes no results of a build invalid',
      INVALIDATIONS,
      { kind: 'REVISION', version: '9', revision: '4' },
      403,
    ],
  ])('%s of others', async (_, action, body, status) => {
    const ulla = await anonymous.asUser('ulla');
    const [ended] = [await ulla.simulateWork(), await ulla.simulateWork()];
    expect((await ulla.delete(`${TASKS}/${ended}/cancel`)).status).toBe(204);
    const study = await studyOf(ulla);
    const shown = async () => [
      (await ulla.get('/api/x/tasks')).body['counts'],
      (await ulla.get(study)).body['points'],
      (await ulla.get(INVALIDATIONS)).body,
    ];
    const before = await shown();
    const path = action.startsWith('/') ? action : `${study}/${action}`;
    const json = { raw: Buffer.from(JSON.stringify(body)), contentType: 'application/json' };
    expect(await sendInHalves(anna, path, json, demote)).toBe(status);
    expect(await shown()).toEqual(before);
  });

  it.each(['an upload', 'a resumable upload'])('overwrites no files of others by %s', async (kind) => {
    const ulla = await anonymous.asUser('ulla');
    expect((await ulla.call('POST', UPLOAD, formWithFile('gear.bin', 'gear'))).status).toBe(204);
    const { raw, headers } = formWithFile('gear.bin', 'x'.repeat(1000));
    const overwrite = '?overwrite=true';
    const { path, part } =
      kind === 'an upload'
        ? { path: UPLOAD + overwrite, part: { raw, contentType: headers['content-type'] } }
        : await begunUpload(anna, 'gear.bin', overwrite);
    expect(await sendInHalves(anna, path, part, demote)).toBe(403);
    const { body } = await ulla.get('/api/x/storage/input');
    expect(body['files']).toMatchObject([{ name: 'gear.bin', owner: 'ulla', size: 4 }]);
  });
});

describe('a HEAD request for a result', () => {
  it.each(['an ended task', 'an unknown task'])('is answered as GET, without the body: %s', async (what) => {
    const id = await anna.simulateWork();
    expect((await anna.delete(`${TASKS}/${id}/cancel`)).status).toBe(204);
    const path = `${resultOf(what === 'an ended task' ? id : '00000000-0000-7000-8000-000000000000')}?timeout=1`;
    const head = await anna.call('HEAD', path, { headers: { origin: hub.address } });
    const get = await anna.get(path);
    expect([head.status, head.text]).toEqual([get.status, '']);
    expect(head.headers.get('content-type')).toBe(get.headers.get('content-type'));
    expect((await anonymous.get('/livez')).status).toBe(200);
  });

  it('waits as long as GET', async () => {
    const id = await anna.simulateWork();
    const timers = runtime.pendingTimers;
    const answer = anna.call('HEAD', `${resultOf(id)}?timeout=86400`);
    await eventually(() => runtime.pendingTimers > timers);
    expect((await anna.delete(`${TASKS}/${id}/cancel`)).status).toBe(204);
    expect((await answer).status).toBe((await anna.get(resultOf(id))).status);
  });
});
