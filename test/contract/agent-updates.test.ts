/** Orders to update over the agent link: signed with the keys that enrollment gives, for a file that the hub serves (contract 12.52). */
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentUpdate } from '@workbench-hub/shared/domain/agent-update';
import { verifiedOrder } from '@workbench-hub/shared/hub-link/pinned-keys';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { askToEnroll, offerCode } from '../support/agents/agent-enrollment.js';
import { offerAgentFile } from '../support/agents/agent-files.js';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { type RunningHub, startHub } from '../support/hubs/running-hub.js';
import { Api } from '../support/interface/api.js';
import { keepSecret } from '../support/secrets.js';
import { TESTED_STORE } from '../support/stores/tested-store.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const PROGRAM = 'the next version of the agent';
const IDLE: AgentUpdate = {
  ...{ unable: null, system: 'linux-x64', running: null, target: null, problem: null, failed: null },
  phase: 'IDLE',
};

/** Answer to an enrollment. */
interface Pinned {
  readonly credential: string;
  readonly updateKeys: string[];
}

let folder: TemporaryFolder;
let dataDir: string;
let digest: string;
let hub: RunningHub;
let api: Api;
beforeAll(async () => {
  folder = await temporaryFolder();
  dataDir = join(folder.path, 'hub');
  const files = join(folder.path, 'agents');
  digest = offerAgentFile(files, PROGRAM).digest;
  await start();
});
async function start(): Promise<void> {
  const updates = { folder: join(folder.path, 'agents') };
  hub = await startHub({ dataDir, config: { agents: { updates } } });
  api = new Api(hub);
}

async function enroll(agentId: string): Promise<Pinned> {
  const code = await offerCode(dataDir, agentId);
  const { text } = await askToEnroll(hub.address, JSON.stringify({ agentId, code }));
  return JSON.parse(text) as Pinned;
}

afterAll(async () => {
  await hub.stop();
  await folder.remove();
});

it('an order is signed with a key that enrollment gives, and its file is served', async () => {
  const { credential, updateKeys } = await enroll('host-1');
  const agent = await FakeAgent.join(
    { ...hub, token: credential },
    {
      id: 'host-1',
      answers: ['updateState', 'update'],
    },
  );
  const ordering = api.post('/api/x/agents/host-1/update', undefined);
  const { requestId: asked } = await agent.hear('request');
  agent.say({ type: 'reply', requestId: asked, error: null, text: null, update: IDLE });
  const { requestId, request } = await agent.hear('request');
  if (request.kind !== 'update') throw new Error(`the hub asks for ${request.kind}`);
  const file = { system: 'linux-x64', digest, sizeBytes: PROGRAM.length };
  const { version } = buildInfo;
  expect(verifiedOrder(request.order, updateKeys)).toEqual({
    agentId: 'host-1',
    version,
    protocol: 1,
    ...file,
  });
  expect(verifiedOrder(request.order, ['A'.repeat(43)])).toBeUndefined();
  const target = `${version}-${digest.slice(0, 16)}`;
  agent.say({
    type: 'reply',
    requestId,
    error: null,
    text: null,
    update: { ...IDLE, phase: 'WAITING', target },
  });
  expect(await ordering).toMatchObject({ status: 200, body: { updatable: true, phase: 'WAITING', target } });
  expect(await (await agent.file(digest)).text()).toBe(PROGRAM);
  await agent.leave();
});

it('an agent of an earlier version is told of in words', async () => {
  const agent = await FakeAgent.join(hub, { id: 'older', instances: [] });
  const { status, body } = await api.post('/api/x/agents/older/update', undefined);
  expect(status).toBe(502);
  expect(body).toMatchObject({ message: expect.stringContaining('which does not answer this: update it') });
  await agent.leave();
});

it('a version on trial gets the probe, and is told when it has proven itself', async () => {
  const agent = await FakeAgent.join(hub, {
    id: 'on-trial',
    instances: [],
    answers: ['probe', 'proven'],
    trial: true,
  });
  const { requestId, request } = await agent.hear('request');
  if (request.kind !== 'probe') throw new Error(`the hub asks for ${request.kind}`);
  agent.say({ type: 'reply', requestId, error: null, text: `${digestOf(request.nonce)}\n` });
  expect((await agent.hear('request')).request).toEqual({ kind: 'proven' });
  await agent.leave();
});

/** Whether an agent obeys an order that the hub gives it now. */
async function obeys({ credential, updateKeys }: Pinned): Promise<boolean> {
  const answers = ['updateState', 'update'];
  const agent = await FakeAgent.join({ ...hub, token: credential }, { id: 'host-2', answers });
  const ordering = api.post('/api/x/agents/host-2/update', undefined);
  for (;;) {
    const { requestId, request } = await agent.hear('request');
    agent.say({ type: 'reply', requestId, error: null, text: null, update: IDLE });
    if (request.kind !== 'update') continue;
    await ordering;
    await agent.leave();
    return verifiedOrder(request.order, updateKeys) !== undefined;
  }
}

/** Restarts the hub with other keys, given those that it has (security.md). */
async function replaceKeys(change: (lines: readonly string[]) => readonly string[]): Promise<void> {
  await hub.stop();
  const file = join(dataDir, 'update-keys');
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  writeFileSync(file, `${change(lines).join('\n')}\n`);
  await start();
}

// On PostgreSQL the keys are in the database.
if (TESTED_STORE === 'sqlite')
  it('agents obey before, between and after the steps by which the key is replaced', async () => {
    const next = randomBytes(32).toString('base64');
    keepSecret(next);
    const before = await enroll('host-2');
    expect(await obeys(before)).toBe(true);

    await replaceKeys((lines) => [...lines, next]);
    expect(await obeys(before)).toBe(true);
    const again = await enroll('host-2');
    expect(again.updateKeys).toHaveLength(2);
    expect(await obeys(again)).toBe(true);

    await replaceKeys(() => [next]);
    expect(await obeys(again)).toBe(true);
    // An agent that was not enrolled again refuses.
    expect(await obeys({ ...again, updateKeys: before.updateKeys })).toBe(false);
  });

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
