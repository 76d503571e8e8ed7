/** Draining of agents by REST and by commands beside the running hub (contract 12.6). */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { offerCode } from '../support/agents/agent-enrollment.js';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { HUBS } from '../support/hubs/hubs-under-test.js';
import { type RunningHub, startHub, USERS } from '../support/hubs/running-hub.js';
import { Api, expectError, LOCAL_TIMESTAMP } from '../support/interface/api.js';
import { runCommand } from '../support/programs/run-command.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const AGENTS = '/api/x/agents';
const NO_INSTANCES = { UP: 0, STARTING: 0, STOPPING: 0, DOWN: 0, FAILED: 0, UNKNOWN: 0 };
const NOBODY = 'there is no agent with the id "nobody"';
const time = expect.stringMatching(LOCAL_TIMESTAMP);

let folder: TemporaryFolder;
let hub: RunningHub;
let anna: Api;
let vera: Api;

async function start(): Promise<void> {
  hub = await startHub({ users: USERS, dataDir: join(folder.path, 'hub') });
  [anna, vera] = await Promise.all([new Api(hub).asUser('anna'), new Api(hub).asUser('vera')]);
}

beforeEach(async () => {
  folder = await temporaryFolder();
  onTestFinished(folder.remove);
  await start();
  onTestFinished(() => hub.stop());
});

const change = async (id: string, command: 'drain' | 'undrain') => {
  const { status, body, text } = await anna.post(`${AGENTS}/${id}/${command}`, {});
  expect(status, text).toBe(200);
  return body;
};
const shown = async (id: string) => (await vera.get(`${AGENTS}/${id}`)).body;
/** Whether each hub shows the agent as drained: consecutive requests go to the hubs in turn, and each reads the drains in its own time. */
const isDrainedAtEachHub = async (id: string) => {
  for (let count = 0; count < HUBS; count++) if (!(await shown(id))['drained']) return false;
  return true;
};

describe('a drained agent', () => {
  it('is shown with its running tasks and instances, here and not in the list of 2.x', async () => {
    const agent = await FakeAgent.join(hub, {
      id: 'host-1',
      instances: [{ id: 'a' }, { id: 'b', version: '1', status: 'FAILED', upForMs: null }],
    });
    await FakeAgent.join(hub, { id: 'host-2', instances: [] });
    await anna.simulateWork();
    const { ref } = await agent.hear('assign');
    const before = (await vera.get('/api/2.0/workbench/node/agent/list')).text;
    const installed = { installation: 'DEBIAN', operatingSystem: 'linux', architecture: 'x64' };
    const idle = {
      ...{ id: 'host-1', version: '0.1.0', ...installed, status: 'UP', drained: false, runningTasks: 1 },
    };
    const instances = { ...NO_INSTANCES, UP: 1, FAILED: 1 };
    expect(await shown('host-1')).toEqual({ ...idle, instances });
    const drained = { ...idle, drained: true, drainedSince: time, drainedBy: 'anna', instances };
    expect(await change('host-1', 'drain')).toEqual(drained);
    const { body } = await vera.get(AGENTS);
    expect(body).toMatchObject({ totalElements: 2, content: [drained, { id: 'host-2', drained: false }] });
    expect((await vera.get('/api/2.0/workbench/node/agent/list')).text).toBe(before);

    const waiting = await anna.simulateWork();
    await agent.end(ref, 'OK');
    expect(await shown('host-1')).toEqual({ ...drained, runningTasks: 0 });
    expect(await anna.task(waiting)).toMatchObject({ status: 'WAITING' });
    // The next task begins at about the same time as the response.
    const undrained = { ...idle, runningTasks: expect.any(Number), instances };
    expect(await change('host-1', 'undrain')).toEqual(undrained);
    await agent.hear('assign', (assign) => assign.ref.taskId === waiting);
  });

  it('stays drained while it is disconnected, and over a restart of the hub', async () => {
    const agent = await FakeAgent.join(hub, { id: 'host-1' });
    await agent.leave();
    // The hub may see the end of the connection later.
    await eventually(async () => (await shown('host-1'))['status'] === 'DOWN' || undefined);
    expect(await change('host-1', 'drain')).toMatchObject({ status: 'DOWN', drained: true });
    await hub.stop();
    await start();
    expect(await shown('host-1')).toMatchObject({ drained: true, drainedBy: 'anna' });
    const back = await FakeAgent.join(hub, { id: 'host-1' });
    const id = await anna.simulateWork();
    expect((await vera.get(`/api/x/tasks/${id}/explain`)).body).toMatchObject({ verdict: 'NONE_UP' });
    await change('host-1', 'undrain');
    await back.hear('assign');
  });

  it('may be enrolled and not known yet; another unknown one is a 404', async () => {
    await offerCode(hub.config.dataDir, 'host-9');
    expect(await shown('host-9')).toEqual({
      id: 'host-9',
      status: 'DOWN',
      drained: false,
      runningTasks: 0,
      instances: NO_INSTANCES,
    });
    expect((await vera.get(AGENTS)).body).toMatchObject({ totalElements: 0 });
    await change('host-9', 'drain');
    expect((await vera.get(AGENTS)).body).toMatchObject({ content: [{ id: 'host-9', drained: true }] });
    for (const path of ['nobody/drain', 'nobody/undrain']) {
      expectError(await anna.post(`${AGENTS}/${path}`, {}), 404, `${AGENTS}/${path}`, NOBODY);
    }
    expectError(await vera.get(`${AGENTS}/nobody`), 404, `${AGENTS}/nobody`, NOBODY);
  });

  it('is changed by the role ADMIN only, and each change is in the audit log', async () => {
    await FakeAgent.join(hub, { id: 'host-1' });
    expect((await vera.post(`${AGENTS}/host-1/drain`, {})).status).toBe(403);
    await change('host-1', 'drain');
    await change('host-1', 'undrain');
    const entries = await eventually(async () => {
      const found = (await anna.get('/api/x/audit')).body['entries'] as Record<string, string>[];
      const ofAgent = found.filter(({ resource }) => resource?.startsWith(`${AGENTS}/host-1/`));
      return ofAgent.length === 3 && ofAgent;
    });
    expect(entries.map(({ user, action, outcome }) => [user, action, outcome])).toEqual([
      ['anna', `POST ${AGENTS}/{id}/undrain`, 'ALLOWED'],
      ['anna', `POST ${AGENTS}/{id}/drain`, 'ALLOWED'],
      ['vera', `POST ${AGENTS}/{id}/drain`, 'REFUSED'],
    ]);
  });
});

describe('the commands', () => {
  const command = (...words: string[]) => {
    const { dataDir, store } = hub.config;
    writeFileSync(join(folder.path, 'hub.yaml'), JSON.stringify({ dataDir, store }));
    return runCommand('hub/bin/workbench-hub.js', ['--config', 'hub.yaml', 'agent', ...words], {
      cwd: folder.path,
    });
  };

  it('drain and undrain an agent of the running hub within seconds', { timeout: 60_000 }, async () => {
    const agent = await FakeAgent.join(hub, { id: 'host-1' });
    const drained = await command('drain', 'host-1');
    expect(drained).toMatchObject({ code: 0, stdout: 'Agent host-1 is drained.\n' });
    expect(drained.stderr).toMatch(/^No agent was enrolled with the id host-1: .* agent undrain host-1\n$/);
    await eventually(() => isDrainedAtEachHub('host-1'));
    const id = await anna.simulateWork();
    expect(await anna.task(id)).toMatchObject({ status: 'WAITING' });
    expect((await command('drain', 'host-1')).stdout).toBe('Agent host-1 was drained already.\n');
    expect((await command('list')).stdout).toMatch(/^host-1 +not enrolled, drained +- +-$/m);
    expect(await command('undrain', 'host-2')).toMatchObject({
      code: 2,
      stderr: 'agent host-2 is not drained; drained are: host-1\n',
    });
    expect(await command('undrain', 'host-1')).toMatchObject({
      code: 0,
      stdout: 'Agent host-1 is no longer drained.\n',
    });
    await agent.hear('assign');
    const audited = (await anna.get('/api/x/audit?action=COMMAND')).body['entries'];
    expect(audited).toMatchObject([
      { resource: 'workbench-hub agent undrain host-1', outcome: 'ALLOWED' },
      { resource: 'workbench-hub agent undrain host-2', outcome: 'FAILED' },
      { resource: 'workbench-hub agent drain host-1', outcome: 'ALLOWED' },
      { resource: 'workbench-hub agent drain host-1', outcome: 'ALLOWED' },
    ]);
  });
});
