/** Instances and servers in 1.0 and 1.1, field for field (contract 11.7 and 11.8). */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { api, hub, hubForAllTests } from '../support/hubs/hub-for-tests.js';
import { startHub } from '../support/hubs/running-hub.js';
import { Api, expectError } from '../support/interface/api.js';
import { temporaryFolder } from '../support/temporary-folder.js';

hubForAllTests();

let agent: FakeAgent;
beforeAll(async () => {
  const gone = await FakeAgent.join(hub, { id: 'gone', instances: [{ id: 'sim-0', revision: '' }] });
  await gone.leave();
  agent = await FakeAgent.join(hub, {
    id: 'host',
    instances: [
      { id: 'sim-2', labels: ['gears', 'linux'] },
      { id: 'sim-1', status: 'DOWN', upForMs: null },
    ],
  });
  await api.simulateWork({ classifiers: [{ type: 'LABLES', value: 'gears' }] });
  await agent.hear('assign');
});
afterAll(() => agent.leave());

describe.each([
  { generation: '1.0', revision: {}, noRevision: {} },
  { generation: '1.1', revision: { revision: '4711' }, noRevision: { revision: '' } },
])('$generation', ({ generation, revision, noRevision }) => {
  const base = `/api/${generation}/workbench/node`;
  const get = async (path: string) => (await api.get(`${base}/${path}`)).body;
  const one = { totalPages: 1, pageSize: 20, pageNumber: 0, first: true, last: true };

  const gone = {
    id: 'sim-0',
    version: '9.1.0',
    ...noRevision,
    labels: [],
    serverId: 'gone',
    status: 'UNKNOWN',
    working: false,
  };
  const down = {
    id: 'sim-1',
    version: '9.1.0',
    ...revision,
    labels: [],
    serverId: 'host',
    status: 'DOWN',
    working: false,
  };
  const busy = {
    id: 'sim-2',
    version: '9.1.0',
    ...revision,
    labels: ['gears', 'linux'],
    serverId: 'host',
    status: 'UP',
    working: true,
  };
  const servers = [
    { id: 'gone', version: '0.1.0', baseUrl: 'http://127.0.0.1', instances: [gone], status: 'DOWN' },
    { id: 'host', version: '0.1.0', baseUrl: 'http://127.0.0.1', instances: [down, busy], status: 'UP' },
  ];

  it('lists the instances by id, with serverId and without startedDatetime', async () => {
    expect(await get('instance/list')).toEqual({
      content: [gone, down, busy],
      totalElements: 3,
      size: 3,
      ...one,
    });
  });

  it('shows one instance', async () => {
    for (const instance of [gone, down, busy]) expect(await get(`instance/${instance.id}`)).toEqual(instance);
  });

  it('lists the servers by id, with baseUrl and without revision', async () => {
    expect(await get('server/list')).toEqual({ content: servers, totalElements: 2, size: 2, ...one });
  });

  it('shows one server', async () => {
    for (const server of servers) expect(await get(`server/${server.id}`)).toEqual(server);
  });

  it.each(['instance', 'server'])('pages through the %s list', async (kind) => {
    const all = (await get(`${kind}/list`))['content'] as object[];
    const second = await get(`${kind}/list?size=1&page=1`);
    expect(second).toEqual({
      content: all.slice(1, 2),
      pageSize: 1,
      pageNumber: 1,
      totalElements: all.length,
      totalPages: all.length,
      size: 1,
      first: false,
      last: all.length === 2,
    });
  });

  it('ignores filters', async () => {
    expect(await get('instance/list?status=UP&version=none&working=maybe')).toMatchObject({
      totalElements: 3,
    });
    expect(await get('server/list?status=UP&id=none')).toMatchObject({ totalElements: 2 });
  });

  it.each([
    ['instance/sim-9', 'there is no instance with the id "sim-9"'],
    ['instance/SIM-1', 'there is no instance with the id "SIM-1"'],
    ['server/sim-1', 'there is no agent with the id "sim-1"'],
    ['server/%20', 'there is no agent with the id " "'],
  ])('answers %s with 404', async (path, message) => {
    expectError(await api.get(`${base}/${path}`), 404, `${base}/${path}`, message);
  });
});

it('a server that a restarted hub only remembers has an empty baseUrl', async () => {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  const before = await startHub({ dataDir: folder.path });
  onTestFinished(before.stop);
  await (await FakeAgent.join(before, { id: 'host' })).leave();
  await before.stop();
  const after = await startHub({ dataDir: folder.path });
  onTestFinished(after.stop);
  for (const generation of ['1.0', '1.1']) {
    const { body } = await new Api(after).get(`/api/${generation}/workbench/node/server/host`);
    expect(body).toMatchObject({ id: 'host', baseUrl: '', status: 'DOWN' });
  }
});

describe('an endpoint that an API version lacks is answered with 404', () => {
  it.each([
    'DELETE /api/1.1/workbench/task/x/cancel',
    'PATCH /api/1.1/workbench/node/instance/sim-1/start',
    'PATCH /api/1.1/workbench/node/instance/sim-1/stop',
    'PATCH /api/1.1/workbench/node/instance/sim-1/restart',
    'GET /api/1.1/workbench/task/x/log',
    'DELETE /api/1.1/workbench/task/x/delete',
    'GET /api/1.1/workbench/node/agent/list',
    'GET /api/1.1/workbench/node/agent/host',
    'GET /api/1.1/workbench/node/instance/sim-1/log/console',
    'POST /api/1.1/auth/login',
    'GET /api/1.1/user',
    'GET /api/1.1/monitoring/server-info',
    'GET /api/1.1/admin/prepare-shutdown',
    'PATCH /api/1.0/workbench/node/instance/sim-1/restart',
    'GET /api/1.0/workbench/task/x/log',
    'DELETE /api/1.0/workbench/task/x/delete',
    'GET /api/1.0/workbench/node/agent/list',
    'GET /api/1.0/workbench/node/agent/host',
    'GET /api/1.0/workbench/node/instance/sim-1/log/console',
    'GET /api/1.0/auth/refresh',
    'GET /api/1.0/auth/logout',
    'GET /api/1.0/user',
    'GET /api/1.0/monitoring/server-info',
    'GET /api/1.0/admin/prepare-shutdown',
    'GET /api/1.0/actuator/health',
    'GET /api/2.0/workbench/node/server/list',
    'GET /api/2.0/workbench/node/server/host',
    'GET /api/2.0/workbench/task/list/running',
    'GET /api/2.0/workbench/task/list/waiting',
    'GET /api/0.9/workbench/task/list',
    'GET /api/1/workbench/task/list',
    'GET /api/1.2/workbench/task/list',
    'GET /api/2.1/workbench/task/list',
    'GET /api/3.0/workbench/node/instance/list',
  ])('%s', async (line) => {
    const [method = '', path = ''] = line.split(' ');
    expectError(await api.call(method, path), 404, path, /^there is nothing at this path/);
  });
});
