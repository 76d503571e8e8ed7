/** The rollout of the hub's version to agents, stopped and resumed by administrators (contract 12.53). */
import { join } from 'node:path';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { offerAgentFile } from '../support/agents/agent-files.js';
import { eventually } from '../support/eventually.js';
import { type RunningHub, startHub, USERS } from '../support/hubs/running-hub.js';
import { Api } from '../support/interface/api.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

let folder: TemporaryFolder;
let hub: RunningHub;
let api: Api;
beforeAll(async () => {
  folder = await temporaryFolder();
  offerAgentFile(join(folder.path, 'agents'), 'the next version of the agent');
  await start();
});
afterAll(async () => {
  await hub.stop();
  await folder.remove();
});

async function start(): Promise<void> {
  const groups = [{ labels: ['test-bench'] }, { labels: ['gears'] }];
  const hours = { from: '00:00', to: '23:59' };
  const updates = { folder: join(folder.path, 'agents'), groups, canaries: 2, atOnce: 3, hours };
  hub = await startHub({ dataDir: join(folder.path, 'hub'), users: USERS, config: { agents: { updates } } });
  api = await new Api(hub).asUser('anna');
}

it('a rollout shows its rules and is stopped until it is resumed, also over a restart of the hub', async () => {
  const rules = {
    ...{ version: buildInfo.version, canaries: 2, atOnce: 3, hours: { from: '00:00', to: '23:59' } },
    groups: [
      { labels: ['test-bench'], agents: {} },
      { labels: ['gears'], agents: {} },
    ],
  };
  expect(await api.get('/api/x/rollout')).toMatchObject({ status: 200, body: { ...rules, agents: [] } });
  const stopped = { state: 'STOPPED', stoppedBy: 'anna', stoppedAt: expect.any(String) };
  for (let time = 0; time < 2; time++)
    expect(await api.post('/api/x/rollout/stop', undefined)).toMatchObject({ status: 200, body: stopped });
  await hub.stop();
  await start();
  expect(await api.get('/api/x/rollout')).toMatchObject({ body: { ...rules, ...stopped } });
  const { status, body } = await api.post('/api/x/rollout/resume', undefined);
  expect([status, body]).toMatchObject([200, rules]);
  expect(body).not.toHaveProperty('stoppedBy');
  const recorded = async () => {
    const { text } = await api.get('/api/x/audit?limit=100&user=anna');
    return ['stop', 'resume'].every((action) => text.includes(`POST /api/x/rollout/${action}`));
  };
  await eventually(recorded);
});

it('a hub without groups has none, and says so', async () => {
  const other = await startHub({ config: {} });
  try {
    const apiOfOther = new Api(other);
    expect(await apiOfOther.get('/api/x/rollout')).toMatchObject({
      status: 200,
      body: { state: 'OFF', groups: [], agents: [] },
    });
    expect(await apiOfOther.post('/api/x/rollout/stop', undefined)).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining('set agents.updates.folder and groups of the hub') },
    });
  } finally {
    await other.stop();
  }
});
