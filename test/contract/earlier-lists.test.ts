/** The task lists of 1.0 and 1.1: all, running, waiting (contract 5.3 and 11.4). */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { api, hub, hubForAllTests } from '../support/hubs/hub-for-tests.js';
import { startHub } from '../support/hubs/running-hub.js';
import { Api, LOCAL_TIMESTAMP } from '../support/interface/api.js';

const time = expect.stringMatching(LOCAL_TIMESTAMP);

hubForAllTests();

let agent: FakeAgent;
/** Tasks by status, each in the order of the requests. */
const ids: Record<string, string> = {};
beforeAll(async () => {
  agent = await FakeAgent.join(hub, {
    instances: [
      { id: 'a', labels: ['a'] },
      { id: 'b', labels: ['b'] },
    ],
  });
  const create = async (name: string, priority: string, label: string) => {
    ids[name] = await api.simulateWork({
      name,
      classifiers: [
        { type: 'PRIORITY', value: priority },
        { type: 'LABLES', value: label },
      ],
    });
  };
  await create('ended', 'NORMAL', 'a');
  await agent.end((await agent.hear('assign')).ref, 'OK');
  // The one of low priority runs for longer.
  await create('runs longer', 'LOW', 'b');
  await agent.hear('assign');
  await create('runs', 'HIGH', 'a');
  await agent.hear('assign');
  await create('waits, low', 'LOW', 'a');
  await create('waits, normal', 'NORMAL', 'nowhere');
  await create('waits, highest', 'HIGHEST', 'a');
  await create('waits, normal too', 'NORMAL', 'a');
  await create('canceled', 'HIGHEST', 'nowhere');
  await api.delete(`/api/1.0/workbench/task/${ids['canceled']}/cancel`);
});
afterAll(() => agent.leave());

const WAITING = ['waits, highest', 'waits, normal', 'waits, normal too', 'waits, low'];
const RUNNING = ['runs longer', 'runs'];

describe.each(['1.0', '1.1'])('%s', (generation) => {
  const list = async (path: string) => (await api.get(`/api/${generation}/workbench/task/${path}`)).body;
  const names = (page: Record<string, unknown>) =>
    (page['content'] as { id: string }[]).map(({ id }) => Object.keys(ids).find((name) => ids[name] === id));

  it('lists all tasks, newest request first', async () => {
    expect(names(await list('list'))).toEqual(Object.keys(ids).reverse());
  });

  it('lists the running tasks, longest running first', async () => {
    expect(names(await list('list/running'))).toEqual(RUNNING);
  });

  it('lists the waiting tasks, next to run first', async () => {
    expect(names(await list('list/waiting'))).toEqual(WAITING);
  });

  it('shows pages and items field for field, without fields of 2.x', async () => {
    expect(await list('list/running')).toEqual({
      content: [
        {
          id: ids['runs longer'],
          type: 'SIMULATE_WORK',
          priority: 'LOW',
          requestedDatetime: time,
          startedDatetime: time,
          status: 'RUNNING',
        },
        {
          id: ids['runs'],
          type: 'SIMULATE_WORK',
          priority: 'HIGH',
          requestedDatetime: time,
          startedDatetime: time,
          status: 'RUNNING',
        },
      ],
      pageSize: 20,
      pageNumber: 0,
      totalElements: 2,
      totalPages: 1,
      size: 2,
      first: true,
      last: true,
    });
    const [canceled] = (await list('list?size=1'))['content'] as object[];
    expect(canceled).toEqual({
      id: ids['canceled'],
      type: 'SIMULATE_WORK',
      priority: 'HIGHEST',
      requestedDatetime: time,
      status: 'CANCELED',
    });
  });

  it.each([
    ['list', Object.keys(ids).length],
    ['list/running', RUNNING.length],
    ['list/waiting', WAITING.length],
  ])('pages through %s', async (path) => {
    const all = names(await list(path));
    const first = await list(`${path}?page=0&size=1`);
    expect(names(first)).toEqual(all.slice(0, 1));
    expect(first).toMatchObject({
      pageSize: 1,
      pageNumber: 0,
      totalElements: all.length,
      totalPages: all.length,
      size: 1,
      first: true,
      last: false,
    });
    const last = await list(`${path}?size=1&page=${all.length - 1}`);
    expect(names(last)).toEqual(all.slice(-1));
    expect(last).toMatchObject({ first: false, last: true });
    const beyond = await list(`${path}?size=1&page=${all.length}`);
    expect(beyond).toMatchObject({
      content: [],
      size: 0,
      totalElements: all.length,
      first: false,
      last: true,
    });
    expect(await list(`${path}?size=1000000`)).toMatchObject({ pageSize: 2000, size: all.length });
  });

  it('ignores the filters of 2.x', async () => {
    const filtered = await list('list/waiting?status=RUNNING&name=x&type=NONSENSE&id=x&priority=LOW');
    expect(names(filtered)).toEqual(WAITING);
  });

  it('shows the same tasks as 2.x, in the same order', async () => {
    const later = (await api.get('/api/2.0/workbench/task/list')).body['content'] as { id: string }[];
    const here = (await list('list'))['content'] as { id: string }[];
    expect(here.map(({ id }) => id)).toEqual(later.map(({ id }) => id));
  });
});

it.each(['1.0', '1.1'])('the lists of %s are empty pages when there is nothing', async (generation) => {
  const own = await startHub();
  onTestFinished(own.stop);
  const ownApi = new Api(own);
  for (const path of [
    'task/list',
    'task/list/running',
    'task/list/waiting',
    'node/instance/list',
    'node/server/list',
  ]) {
    expect((await ownApi.get(`/api/${generation}/workbench/${path}`)).body).toEqual({
      content: [],
      pageSize: 20,
      pageNumber: 0,
      totalElements: 0,
      totalPages: 0,
      size: 0,
      first: true,
      last: true,
    });
  }
});
