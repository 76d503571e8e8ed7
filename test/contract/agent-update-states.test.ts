/** Updates of agents in the list of agents, without asking them (contract 12.55). */
import { join } from 'node:path';
import { versionName } from '@workbench-hub/shared/domain/agent-update';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { offerAgentFile } from '../support/agents/agent-files.js';
import { FakeAgent, type FakeAgentSetup, instanceReportOf } from '../support/agents/fake-agent.js';
import { joinTellingAgent, LOOK_LIMIT_MS } from '../support/agents/telling-agent.js';
import { type RunningHub, startHub, USERS } from '../support/hubs/running-hub.js';
import { Api } from '../support/interface/api.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const FILE = { kind: 'FILE', os: 'linux', arch: 'x64' };
const { version } = buildInfo;

let folder: TemporaryFolder;
let target: string;
let hub: RunningHub;
/** Interfaces as an administrator and as a viewer have them. */
let apis: { readonly anna: Api; readonly vera: Api };

beforeAll(async () => {
  folder = await temporaryFolder();
  const files = join(folder.path, 'agents');
  target = versionName(version, offerAgentFile(files, 'the next version of the agent').digest);
  const updates = { folder: files, groups: [{ labels: ['test-bench'] }] };
  hub = await startHub({ users: USERS, config: { agents: { updates } } });
  apis = { anna: await new Api(hub).asUser('anna'), vera: await new Api(hub).asUser('vera') };
});
afterAll(async () => {
  await hub.stop();
  await folder.remove();
});

/** Names of an agent, with an instance of this label. */
function setupOf(id: string, label: string, setup: FakeAgentSetup = {}): FakeAgentSetup {
  const instances = [instanceReportOf({ id: `${id}-sim`, labels: [label] })];
  return { id, nodeId: crypto.randomUUID(), installation: FILE, instances, ...setup };
}

async function shownTo(user: keyof typeof apis, id: string): Promise<unknown> {
  const { body } = await apis[user].get(`/api/x/agents/${id}`);
  const { body: list } = await apis[user].get('/api/x/agents');
  const listed = (list['content'] as { id: string; update?: unknown }[]).find((agent) => agent.id === id);
  expect(listed?.update).toEqual(body['update']);
  return body['update'];
}

it('agents of a rollout are listed with their progress, and with the reason for administrators', async () => {
  const reason = 'it ended with exit code 1';
  const failed = { name: target, reason, log: 'no library\n', agoMs: 10 };
  const agents = [
    await joinTellingAgent(hub, setupOf('failed', 'test-bench'), { failed }),
    await joinTellingAgent(hub, setupOf('done', 'test-bench'), { running: target }),
  ];
  onTestFinished(async () => {
    for (const agent of agents) await agent.leave();
  });
  const seen = { version, changedAt: expect.any(String) };
  const poll = { timeout: LOOK_LIMIT_MS };
  await expect
    .poll(() => shownTo('anna', 'failed'), poll)
    .toEqual({ ...seen, progress: 'FAILED', running: '0.0.1-f', reason });
  expect(await shownTo('vera', 'failed')).toEqual({ ...seen, progress: 'FAILED', running: '0.0.1-f' });
  expect(await shownTo('vera', 'done')).toEqual({ ...seen, progress: 'DONE', running: target });
});

it('agents of no rollout are listed with what they have told', async () => {
  const debian = { kind: 'DEBIAN', os: 'linux', arch: 'x64' };
  for (const [id, installation, update] of [
    ['packaged', debian, { version, progress: 'UNABLE' }],
    ['one-file', FILE, { version, progress: 'DONE' }],
    ['older', null, undefined],
  ] as const) {
    const agent = await FakeAgent.join(hub, setupOf(id, 'gears', { installation }));
    onTestFinished(() => agent.leave());
    expect(await shownTo('vera', id)).toEqual(update);
  }
});

it('agents of a hub that updates none are listed without', async () => {
  const other = await startHub({});
  onTestFinished(() => other.stop());
  await FakeAgent.join(other, setupOf('one-file', 'gears'));
  const { body } = await new Api(other).get('/api/x/agents/one-file');
  expect(body).toMatchObject({ installation: 'FILE' });
  expect(body).not.toHaveProperty('update');
});
