/** Orders to update over the agent link: signed with the keys that enrollment gives, for a file that the hub serves (contract 12.52). */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { verifiedOrder } from '@workbench-hub/shared/hub-link/pinned-keys';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { askToEnroll, offerCode } from '../support/agents/agent-enrollment.js';
import { offerAgentFile } from '../support/agents/agent-files.js';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { type RunningHub, startHub } from '../support/hubs/running-hub.js';
import { Api } from '../support/interface/api.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const PROGRAM = 'the next version of the agent';
const IDLE = { unable: null, system: 'linux-x64', phase: 'IDLE', running: null, target: null } as const;

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
  hub = await startHub({ dataDir, config: { agents: { updates: { folder: files } } } });
  api = new Api(hub);
});
afterAll(async () => {
  await hub.stop();
  await folder.remove();
});

it('an order is signed with a key that enrollment gives, and its file is served', async () => {
  const code = await offerCode(dataDir, 'host-1');
  const { text } = await askToEnroll(hub.address, JSON.stringify({ agentId: 'host-1', code }));
  const { credential, updateKeys } = JSON.parse(text) as { credential: string; updateKeys: string[] };
  const agent = await FakeAgent.join(
    { ...hub, token: credential },
    {
      id: 'host-1',
      answers: ['updateState', 'update'],
    },
  );
  const ordering = api.post('/api/x/agents/host-1/update', undefined);
  const update = { ...IDLE, problem: null, failed: null };
  const { requestId: asked } = await agent.hear('request');
  agent.say({ type: 'reply', requestId: asked, error: null, text: null, update });
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
    update: { ...update, phase: 'WAITING', target },
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

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
