/** Workbench instances and agents (contract 5.6, 5.7, 6.1 and 6.5). */
import { beforeAll, describe, expect, it } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { api, hub, hubForAllTests } from '../support/hubs/hub-for-tests.js';
import { expectError, LOCAL_TIMESTAMP } from '../support/interface/api.js';

const NODE = '/api/2.0/workbench/node';
const time = expect.stringMatching(LOCAL_TIMESTAMP);

hubForAllTests();

let hostA: FakeAgent;
let working: Awaited<ReturnType<FakeAgent['hear']>>;
beforeAll(async () => {
  hostA = await FakeAgent.join(hub, {
    id: 'host-a',
    instances: [
      { id: 'sim-2', version: '9.1.0', labels: ['Gears', 'linux'] },
      { id: 'sim-1', version: '9.1.0', labels: ['linux'] },
      { id: 'old', version: '8.4', revision: '12', labels: [], status: 'FAILED', upForMs: null },
    ],
  });
  await api.simulateWork({ classifiers: [{ type: 'LABLES', value: 'gears' }] });
  working = await hostA.hear('assign');
  const gone = await FakeAgent.join(hub, {
    id: 'host-b',
    instances: [{ id: 'far', version: '10', labels: ['gears'] }],
  });
  await gone.leave();
  await FakeAgent.join(hub, { id: 'empty', instances: [] });
});

type Item = Readonly<Record<string, unknown>>;
const ids = async (path: string) =>
  ((await api.get(`${NODE}/${path}`)).body['content'] as Item[]).map(({ id }) => id);

const SIM_1 = {
  id: 'sim-1',
  version: '9.1.0',
  revision: '4711',
  labels: ['linux'],
  agentId: 'host-a',
  status: 'UP',
  working: false,
};
const SIM_2 = { ...SIM_1, id: 'sim-2', labels: ['Gears', 'linux'], working: true };
const OLD = { ...SIM_1, id: 'old', version: '8.4', revision: '12', labels: [], status: 'FAILED' };
const FAR = { ...SIM_1, id: 'far', version: '10', labels: ['gears'], agentId: 'host-b', status: 'UNKNOWN' };

describe('instances', () => {
  it('are listed by id, field for field', async () => {
    expect(working.type).toBe('assign');
    expect((await api.get(`${NODE}/instance/list`)).body).toEqual({
      content: [
        { ...FAR, startedDatetime: time },
        OLD,
        { ...SIM_1, startedDatetime: time },
        { ...SIM_2, startedDatetime: time },
      ],
      pageSize: 20,
      pageNumber: 0,
      totalElements: 4,
      totalPages: 1,
      size: 4,
      first: true,
      last: true,
    });
  });

  it.each<[string, string[]]>([
    ['', ['far', 'old', 'sim-1', 'sim-2']],
    ['?size=3', ['far', 'old', 'sim-1']],
    ['?size=3&page=1', ['sim-2']],
    ['?size=3&page=2', []],
    ['?id=sim-1', ['sim-1']],
    ['?id=SIM-1', []],
    ['?id=sim-?', ['sim-1', 'sim-2']],
    ['?id=sim', []],
    ['?version=9.1.0', ['sim-1', 'sim-2']],
    ['?version=9.*', ['sim-1', 'sim-2']],
    ['?version=*', ['far', 'old', 'sim-1', 'sim-2']],
    ['?version=9', []],
    ['?labels=GEARS', ['far', 'sim-2']],
    ['?labels=gears,linux', ['sim-2']],
    ['?labels=gears&labels=Linux', ['sim-2']],
    ['?labels=', ['far', 'old', 'sim-1', 'sim-2']],
    ['?labels=gear', []],
    ['?status=UP', ['sim-1', 'sim-2']],
    ['?status=failed,unknown', ['far', 'old']],
    ['?status=FAILED&status=UP', ['old', 'sim-1', 'sim-2']],
    ['?working=true', ['sim-2']],
    ['?working=FALSE', ['far', 'old', 'sim-1']],
    ['?version=9.*&working=false&labels=linux', ['sim-1']],
  ])('instance/list%s', async (query, expected) => {
    expect(await ids(`instance/list${query}`)).toEqual(expected);
  });

  it.each<[string, string]>([
    ['?page=-1', 'page: must be a whole number of at least 0, given once'],
    ['?size=0', 'size: must be a whole number of at least 1, given once'],
    ['?status=IDLE', 'status[0]: must be one of UP, STARTING, STOPPING, DOWN, FAILED, UNKNOWN'],
    ['?working=yes', 'working: must be true or false, given once'],
    ['?working=true&working=true', 'working: must be true or false, given once'],
    ['?version=a&version=b', 'version: must be given once'],
    ['?id=a&id=b', 'id: must be given once'],
  ])('instance/list%s is answered with 400', async (query, message) => {
    expectError(await api.get(`${NODE}/instance/list${query}`), 400, `${NODE}/instance/list`, message);
  });

  it('are shown one at a time', async () => {
    expect((await api.get(`${NODE}/instance/sim-2`)).body).toEqual({ ...SIM_2, startedDatetime: time });
    expect((await api.get(`${NODE}/instance/old`)).body).toEqual(OLD);
    const path = `${NODE}/instance/nobody`;
    expectError(await api.get(path), 404, path, 'there is no instance with the id "nobody"');
  });

  it('follow the reports of their agent', async () => {
    const report = { id: 'sim-1', version: '9.1.0', revision: '4711', labels: ['linux'] };
    const shows = (status: string) =>
      eventually(async () => {
        const { body } = await api.get(`${NODE}/instance/sim-1`);
        return body['status'] === status && body;
      });
    hostA.say({ type: 'instance', instance: { ...report, status: 'STOPPING', upForMs: 5 } });
    expect(await shows('STOPPING')).toEqual({ ...SIM_1, status: 'STOPPING', startedDatetime: time });
    hostA.say({ type: 'instance', instance: { ...report, status: 'DOWN', upForMs: null } });
    expect(await shows('DOWN')).toEqual({ ...SIM_1, status: 'DOWN' });
    hostA.say({ type: 'instance', instance: { ...report, status: 'UP', upForMs: 3_600_000 } });
    const { startedDatetime } = await shows('UP');
    const ageMs = Date.now() - Date.parse(startedDatetime as string);
    expect(Math.abs(ageMs - 3_600_000)).toBeLessThan(60_000);
  });
});

describe('agents', () => {
  const agent = (id: string, status: string, instances: object[]) => ({
    id,
    version: '0.1.0',
    revision: 'abc1234',
    instances,
    status,
  });

  it('are listed by id with their instances, which carry no startedDatetime', async () => {
    const { body } = await api.get(`${NODE}/agent/list`);
    expect(body).toEqual({
      content: [
        agent('empty', 'UP', []),
        agent('host-a', 'UP', [OLD, SIM_1, SIM_2]),
        agent('host-b', 'DOWN', [FAR]),
      ],
      pageSize: 20,
      pageNumber: 0,
      totalElements: 3,
      totalPages: 1,
      size: 3,
      first: true,
      last: true,
    });
  });

  it.each<[string, string[]]>([
    ['?size=2&page=1', ['host-b']],
    ['?id=host-*', ['host-a', 'host-b']],
    ['?version=0.?.0', ['empty', 'host-a', 'host-b']],
    ['?version=0.2', []],
    ['?status=DOWN', ['host-b']],
    ['?status=up', ['empty', 'host-a']],
    ['?status=up,down', ['empty', 'host-a', 'host-b']],
  ])('agent/list%s', async (query, expected) => {
    expect(await ids(`agent/list${query}`)).toEqual(expected);
  });

  it.each<[string, string]>([
    ['?status=AWAY', 'status[0]: must be one of UP, DOWN'],
    ['?page=x', 'page: must be a whole number of at least 0, given once'],
    ['?version=a&version=b', 'version: must be given once'],
  ])('agent/list%s is answered with 400', async (query, message) => {
    expectError(await api.get(`${NODE}/agent/list${query}`), 400, `${NODE}/agent/list`, message);
  });

  it('are shown one at a time', async () => {
    expect((await api.get(`${NODE}/agent/host-b`)).body).toEqual(agent('host-b', 'DOWN', [FAR]));
    const path = `${NODE}/agent/nobody`;
    expectError(await api.get(path), 404, path, 'there is no agent with the id "nobody"');
  });
});
