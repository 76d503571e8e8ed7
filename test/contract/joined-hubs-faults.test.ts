/** Hubs that join other hubs, while parts of them are away (decision 0083). */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { FakeAgent, type FakeAgentSetup } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { type HubSetup, type RunningHub, startHub } from '../support/hubs/running-hub.js';
import { configOfSite, instanceAt, listed, resultOf, startSite } from '../support/hubs/sites.js';
import { Api } from '../support/interface/api.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const TASK = '/api/2.0/workbench/task';
const PRESS: FakeAgentSetup = { id: 'host-1', instances: [{ id: 'press', version: '9.1.0' }] };

let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(() => folder.remove());

/** Starts a hub on a folder that outlives it. */
async function start(name: string, setup: HubSetup = {}): Promise<RunningHub> {
  const dataDir = join(folder.path, name);
  await mkdir(dataDir, { recursive: true });
  const hub = await startHub({ ...setup, dataDir });
  onTestFinished(hub.stop);
  return hub;
}

/** Starts it again at the same address. */
const startAgain = (name: string, { address }: RunningHub, setup: HubSetup = {}) =>
  start(name, {
    ...setup,
    config: { ...setup.config, server: { ...setup.config?.server, port: Number(new URL(address).port) } },
  });

const hasStatus = (api: Api, id: string, status: string) =>
  eventually(async () => (await api.task(id))['status'] === status);

describe('a loan', () => {
  it('goes on while the hub of the site is restarted', async () => {
    const home = await start('hq');
    const api = new Api(home);
    const setup = { config: configOfSite(home, 'berlin') };
    const site = await start('berlin', setup);
    const before = await FakeAgent.join(site, PRESS);
    await instanceAt(api, 'berlin:press');
    const id = await api.simulateWork();
    const { ref } = await before.hear('assign');
    await site.stop();
    await instanceAt(api, 'berlin:press', { status: 'UNKNOWN' });

    const again = await start('berlin', setup);
    const after = await FakeAgent.join(again, { ...PRESS, running: [ref] });
    await instanceAt(api, 'berlin:press', { status: 'UP', working: true });
    after.report(ref, 'OK');
    expect(await resultOf(api, id)).toMatchObject({ status: 'FINISHED' });
    expect((await api.get(`/api/x/tasks/${id}`)).body['attempts']).toHaveLength(1);
  });

  it('that ended while its home was away is reported when that is back', async () => {
    const home = await start('hq');
    const { hub: site } = await startSite(home);
    const press = await FakeAgent.join(site, PRESS);
    await instanceAt(new Api(home), 'berlin:press');
    const id = await new Api(home).batchJob();
    const { ref } = await press.hear('assign');
    await home.stop();
    const output = { path: 'result.bin', ...(await press.upload('y'.repeat(200_000))) };
    expect(await press.end(ref, 'OK', { outputFiles: [output] })).toBe(true);

    const api = new Api(await startAgain('hq', home));
    expect(await resultOf(api, id, 'execute-batch-job')).toMatchObject({
      status: 'FINISHED',
      outputFiles: [{ filename: 'result.bin' }],
    });
  });

  it('that ended while both hubs were killed is reported when both are back', async () => {
    const home = await start('hq');
    const setup = { config: configOfSite(home, 'berlin') };
    const site = await start('berlin', setup);
    const press = await FakeAgent.join(site, PRESS);
    await instanceAt(new Api(home), 'berlin:press');
    const id = await new Api(home).simulateWork();
    const { ref } = await press.hear('assign');
    await home.stop();
    expect(await press.end(ref, 'OK')).toBe(true);
    await site.stop();

    await start('berlin', setup);
    const api = new Api(await startAgain('hq', home));
    expect(await resultOf(api, id)).toMatchObject({ status: 'FINISHED' });
    expect((await api.get(`/api/x/tasks/${id}`)).body['attempts']).toHaveLength(1);
  });

  it('whose agent is lost at the site runs elsewhere, and the loss counts at home', async () => {
    const home = await start('hq');
    const api = new Api(home);
    const agents = { unreachableAfter: '3s', leaseTimeout: '3s' };
    const { hub: site } = await startSite(home, 'berlin', {
      config: { ...configOfSite(home, 'berlin'), agents },
    });
    const press = await FakeAgent.join(site, PRESS);
    await instanceAt(api, 'berlin:press');
    const id = await api.simulateWork();
    await press.hear('assign');
    const own = await FakeAgent.join(home, { id: 'own', instances: [{ id: 'saw' }] });
    await press.leave();
    const { ref } = await own.hear('assign');
    expect(ref).toEqual({ taskId: id, attempt: 2, instanceId: 'saw' });
    expect((await api.get(`/api/x/tasks/${id}`)).body).toMatchObject({ attempts: [{ outcome: 'LOSS' }, {}] });
    own.report(ref, 'OK');
    expect(await resultOf(api, id)).toMatchObject({ status: 'FINISHED' });
  });

  it('of an upstream that is no longer configured ends at the next start of the site', async () => {
    const home = await start('hq');
    const site = await start('berlin', { config: configOfSite(home, 'berlin') });
    const press = await FakeAgent.join(site, PRESS);
    await instanceAt(new Api(home), 'berlin:press');
    await new Api(home).simulateWork();
    const { ref } = await press.hear('assign');
    await site.stop();
    const api = new Api(await start('berlin'));
    await hasStatus(api, ref.taskId, 'CANCELED');
    expect((await api.delete(`${TASK}/${ref.taskId}/delete`)).status).toBe(204);
  });
});

describe('over three levels', () => {
  it('each hub lists the instances and agents of those below it, in both generations', async () => {
    const home = await start('hq');
    const api = new Api(home);
    const { hub: middle, api: apiOfMiddle } = await startSite(home, 'europe');
    const { hub: site } = await startSite(middle, 'berlin');
    await FakeAgent.join(site, PRESS);
    const NODE = 'workbench/node';
    for (const [at, agent, id] of [
      [apiOfMiddle, 'berlin', 'berlin:press'],
      [api, 'europe', 'europe:berlin:press'],
    ] as const) {
      await instanceAt(at, id, { status: 'UP', agentId: agent, version: '9.1.0' });
      const [ofAgent] = await listed(at, `/api/2.0/${NODE}/agent/list`);
      expect(ofAgent).toMatchObject({ id: agent, status: 'UP', instances: [{ id, agentId: agent }] });
      expect(await listed(at, `/api/1.0/${NODE}/instance/list`)).toMatchObject([{ id, serverId: agent }]);
      const [server] = await listed(at, `/api/1.0/${NODE}/server/list`);
      const baseUrl = `https://${agent}.example.com`;
      expect(server).toMatchObject({ id: agent, baseUrl, status: 'UP', instances: [{ id }] });
    }
    const ways = { hub: { below: [['berlin']] } };
    await eventually(async () => expect((await api.get('/api/x/agents/europe')).body).toMatchObject(ways));
  });

  it('a task goes down and its result comes up', async () => {
    const home = await start('hq');
    const api = new Api(home);
    const { hub: middle, api: apiOfMiddle } = await startSite(home, 'europe');
    const { hub: site, api: apiOfSite } = await startSite(middle, 'berlin');
    const press = await FakeAgent.join(site, PRESS);
    await instanceAt(apiOfMiddle, 'berlin:press');
    await instanceAt(api, 'europe:berlin:press', { status: 'UP', agentId: 'europe' });
    const id = await api.batchJob();
    const { ref } = await press.hear('assign');
    expect((await apiOfSite.get(`/api/x/tasks/${ref.taskId}`)).body).toMatchObject({
      loan: { upstream: 'hq', hub: expect.not.stringContaining('europe') },
    });
    const output = { path: 'a/b.txt', ...(await press.upload('deep')) };
    press.report(ref, 'OK', { outputFiles: [output] });
    expect(await resultOf(api, id, 'execute-batch-job')).toMatchObject({
      status: 'FINISHED',
      executingWorkbench: { id: 'europe:berlin:press' },
      outputFiles: [{ directory: 'a', filename: 'b.txt' }],
    });
  });

  it('a circle is refused', async () => {
    const home = await start('hq');
    const { hub: site } = await startSite(home, 'berlin');
    await home.stop();
    const above = await startAgain('hq', home, { config: configOfSite(site, 'top') });
    const refused = (of: RunningHub) => of.log.find(({ msg }) => msg === 'agent refused')?.['message'];
    await eventually(() => refused(site) ?? refused(above));
    expect([refused(site), refused(above)].filter(Boolean).join()).toMatch(
      /by way of (?:berlin > top|top > berlin|top|berlin)/,
    );
  });
});
