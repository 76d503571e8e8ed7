/** Enrollment and revocation of agents by REST, and lists of the storage (contract 12.14 and 12.15). */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { askToEnroll } from '../support/agents/agent-enrollment.js';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { type RunningHub, startHub, USERS } from '../support/hubs/running-hub.js';
import { Api, expectError, OFFSET_TIMESTAMP } from '../support/interface/api.js';
import { keepSecret } from '../support/secrets.js';

const AGENTS = '/api/x/agents';
const INPUT = '/api/x/storage/input';

let hub: RunningHub;
let anna: Api;
let ulla: Api;
beforeEach(async () => {
  hub = await startHub({ users: USERS });
  anna = await new Api(hub).asUser('anna');
  ulla = await new Api(hub).asUser('ulla');
});
afterEach(() => hub.stop());

async function enroll(id: string): Promise<string> {
  const { status, body, text } = await anna.post(AGENTS, { id, validFor: 60 });
  expect(status, text).toBe(201);
  const code = String(body['code']);
  keepSecret(code);
  expect(body).toEqual({ id, code, expiresAt: expect.stringMatching(OFFSET_TIMESTAMP) });
  return code;
}

it('an agent is enrolled by a code, joins with its credential, and is gone when that is revoked', async () => {
  const code = await enroll('host-1');
  const { text } = await askToEnroll(hub.address, JSON.stringify({ agentId: 'host-1', code }));
  const { credential } = JSON.parse(text) as { credential: string };
  keepSecret(credential);
  const agent = await FakeAgent.join({ address: hub.address, token: credential }, { id: 'host-1' });
  expect((await anna.call('POST', `${AGENTS}/host-1/revoke`)).status).toBe(204);
  expect(await agent.closed()).toContain('revoked');
  const path = `${AGENTS}/host-1/revoke`;
  expectError(
    await anna.call('POST', path),
    409,
    path,
    'agent "host-1" has no credential to revoke; to exclude an agent that joins by agents.token, change the token or ' +
      'set agents.enrolledOnly',
  );
});

it('a later code replaces an earlier one, which the hub shows nowhere', async () => {
  const first = await enroll('host-1');
  const second = await enroll('host-1');
  const status = async (code: string) =>
    (await askToEnroll(hub.address, JSON.stringify({ agentId: 'host-1', code }))).status;
  expect([await status(first), await status(second)]).toEqual([401, 200]);
  const entries = await eventually(async () => {
    const { text } = await anna.get('/api/x/audit');
    return text.includes('POST /api/x/agents') && text;
  });
  expect(entries).not.toContain(first);
});

it.each([
  ['workbench-hub', /^id: must not be workbench-hub, which is reserved/],
  ['a b', /^id: must be 1 to 200 letters/],
  ['x'.repeat(201), /^id: /],
])('the id %s is refused', async (id, message) => {
  expectError(await anna.post(AGENTS, { id }), 400, AGENTS, message);
});

it('files in the storage are listed by name, with their owners', async () => {
  const upload = async (by: Api, name: string, content: string, query = '') => {
    const form = new FormData();
    form.append('file', new Blob([content]), name);
    const response = await fetch(`${hub.address}/api/2.0/storage/input/upload${query}`, {
      method: 'POST',
      body: form,
      headers: { authorization: `Bearer ${by.token}` },
    });
    expect(response.status).toBe(204);
  };
  await upload(anna, 'gear-1.wbpz', 'one');
  await upload(ulla, 'gear-2.wbpz', 'three', '?encrypt=true');
  await upload(ulla, 'other.txt', '');
  const times = {
    storedAt: expect.stringMatching(OFFSET_TIMESTAMP),
    expiresAt: expect.stringMatching(OFFSET_TIMESTAMP),
  };
  const { body } = await ulla.get(`${INPUT}?prefix=gear`);
  expect(body).toEqual({
    files: [
      {
        name: 'gear-1.wbpz',
        size: 3,
        digest: expect.stringMatching(/^[0-9a-f]{64}$/),
        encrypted: false,
        owner: 'anna',
        ...times,
      },
      { name: 'gear-2.wbpz', size: 5, encrypted: true, owner: 'ulla', ...times },
    ],
  });
  const first = (await ulla.get(`${INPUT}?limit=2&owner=ulla`)).body;
  expect(first).not.toHaveProperty('next');
  const page = (await ulla.get(`${INPUT}?limit=1`)).body;
  expect(page['next']).toBe('gear-1.wbpz');
  expect((await ulla.get(`${INPUT}?limit=1&after=${page['next']}`)).body['files']).toMatchObject([
    { name: 'gear-2.wbpz' },
  ]);
  expect((await ulla.get('/api/x/storage/output')).body).toEqual({ files: [] });
});

it('a storage that is off is not listed', async () => {
  const off = await startHub({
    config: { storage: { input: { enabled: false }, output: { enabled: false } } },
  });
  for (const area of ['input', 'output']) {
    expect((await new Api(off).get(`/api/x/storage/${area}`)).status).toBe(423);
  }
  await off.stop();
});
