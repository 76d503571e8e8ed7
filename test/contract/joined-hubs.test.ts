/** Hubs that join other hubs (contract 2.10, decision 0083). */
import { beforeEach, describe, expect, it } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { api, hub, hubForEachTest, ownHub } from '../support/hubs/hub-for-tests.js';
import type { HubSetup, RunningHub } from '../support/hubs/running-hub.js';
import type { Api } from '../support/interface/api.js';

const NODE = '/api/2.0/workbench/node';
const TASK = '/api/2.0/workbench/task';

/** Headquarters. */
hubForEachTest({ config: { server: { publicUrl: 'https://hq.example.com' } } });

interface Site {
  readonly hub: RunningHub;
  readonly api: Api;
}

type Lend = NonNullable<NonNullable<NonNullable<HubSetup['config']>['upstreams']>[number]['lend']>;

const siteOf = (above: RunningHub, id = 'berlin', lend: Lend = {}): Promise<Site> =>
  ownHub({
    config: {
      server: { publicUrl: `https://${id}.example.com` },
      upstreams: [{ name: 'hq', url: above.address.replace('http', 'ws'), id, token: above.token, lend }],
    },
  });

type Item = Readonly<Record<string, unknown>>;
const listed = async (of: Api, path: string) => (await of.get(path)).body['content'] as Item[];

/** The instance at this hub, when it is as wanted. */
const instanceAt = (of: Api, id: string, wanted: Item = { status: 'UP' }) =>
  eventually(async () => {
    const found = (await listed(of, `${NODE}/instance/list`)).find((each) => each['id'] === id);
    expect(found).toMatchObject({ id, ...wanted });
    return found as Item;
  });

let site: Site;
let press: FakeAgent;
beforeEach(async () => {
  site = await siteOf(hub);
  press = await FakeAgent.join(site.hub, {
    id: 'host-1',
    instances: [{ id: 'press', version: '9.1.0', labels: ['forming'] }],
  });
});

describe('instances of a joined hub', () => {
  it('are those of an agent, with the address of the hub in 1.0', async () => {
    const lent = { version: '9.1.0', labels: ['forming'], status: 'UP', working: false };
    await instanceAt(api, 'berlin:press', { ...lent, agentId: 'berlin' });
    const [server] = await listed(api, '/api/1.0/workbench/node/server/list');
    expect(server).toMatchObject({ id: 'berlin', baseUrl: 'https://berlin.example.com', status: 'UP' });
    expect(server?.['instances']).toEqual([
      expect.objectContaining({ id: 'berlin:press', serverId: 'berlin' }),
    ]);
  });

  it('work while their own hub uses them, and get no task of another', async () => {
    await instanceAt(api, 'berlin:press');
    await site.api.simulateWork();
    const own = await press.hear('assign');
    await instanceAt(api, 'berlin:press', { working: true });
    const id = await api.simulateWork();
    await press.end(own.ref, 'OK');
    const loan = await press.hear('assign');
    expect((await api.get(`${TASK}/${id}`)).body).toMatchObject({ status: 'RUNNING' });
    await press.end(loan.ref, 'OK');
    await eventually(async () =>
      expect((await api.get(`${TASK}/${id}`)).body).toMatchObject({ status: 'FINISHED' }),
    );
  });
});

describe('a task on a lent instance', () => {
  it('runs at the site and ends at home', async () => {
    await instanceAt(api, 'berlin:press');
    const id = await api.batchJob({ name: 'far' });
    const assigned = await press.hear('assign');
    expect((await api.get(`${TASK}/${id}`)).body).toMatchObject({ status: 'RUNNING' });
    const output = { path: 'result.txt', ...(await press.upload('42')) };
    const log = await press.upload('done');
    press.report(assigned.ref, 'OK', { outputFiles: [output], log });
    const result = await api.get(`${TASK}/execute-batch-job/${id}/result?timeout=30`);
    expect(result.body).toMatchObject({
      status: 'FINISHED',
      batchExecutionStatus: 'OK',
      executingWorkbench: { id: 'berlin:press', version: '9.1.0' },
      outputFiles: [{ filename: 'result.txt', content: Buffer.from('42').toString('base64') }],
    });
    expect((await api.get(`${TASK}/${id}/log`)).text).toContain('done');
  });
});
