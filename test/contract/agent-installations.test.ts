/** Installations of agents: what the list of agents shows (contract 12.51). */
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { type RunningHub, startHub } from '../support/hubs/running-hub.js';
import { Api } from '../support/interface/api.js';
import { temporaryFolder } from '../support/temporary-folder.js';

let dataDir: string;
let hub: RunningHub;
let api: Api;

async function start(): Promise<void> {
  hub = await startHub({ dataDir });
  api = new Api(hub);
}

beforeEach(async () => {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  dataDir = join(folder.path, 'hub');
  await start();
  onTestFinished(() => hub.stop());
});

const joined = (id: string, setup: Parameters<typeof FakeAgent.join>[1]) =>
  FakeAgent.join(hub, { id, nodeId: crypto.randomUUID(), instances: [], ...setup });
const shown = async (id: string) => {
  const { body } = await api.get(`/api/x/agents/${id}`);
  return [body['installation'], body['operatingSystem'], body['architecture']];
};

it('an agent is shown with its system and its kind of installation, also after its end and a restart of the hub', async () => {
  const agent = await joined('windows-1', { installation: { kind: 'FILE', os: 'windows', arch: 'x64' } });
  const told = ['FILE', 'windows', 'x64'];
  expect(await shown('windows-1')).toEqual(told);
  await agent.leave();
  expect(await shown('windows-1')).toEqual(told);
  await hub.stop();
  await start();
  expect(await shown('windows-1')).toEqual(told);
  const { body } = await api.get('/api/x/agents');
  expect(body).toMatchObject({ content: [{ id: 'windows-1', installation: 'FILE', status: 'DOWN' }] });
});

it('an agent of an earlier version is shown without them, also one that told them before', async () => {
  await joined('old', { installation: null });
  expect(await shown('old')).toEqual([undefined, undefined, undefined]);
  const agent = await joined('back', {});
  await agent.leave();
  await joined('back', { nodeId: agent.nodeId, installation: null });
  expect(await shown('back')).toEqual([undefined, undefined, undefined]);
});

it('an agent of a later version joins, and is shown without what the hub does not know', async () => {
  const agent = await joined('new', { installation: { kind: 'FLATPAK', os: 'linux', arch: 'quantum' } });
  expect(agent.heard[0]?.type).toBe('welcome');
  expect(await shown('new')).toEqual([undefined, 'linux', undefined]);
});
