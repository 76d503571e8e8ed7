/** GET /api/2.0/workbench/task/list (contract 5.1 to 5.5). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { api, hub, hubForAllTests } from '../support/hubs/hub-for-tests.js';
import { expectError, LOCAL_TIMESTAMP } from '../support/interface/api.js';

const PATH = '/api/2.0/workbench/task/list';
const TASKS = '/api/2.0/workbench/task';
const time = expect.stringMatching(LOCAL_TIMESTAMP);
const nowhere = { classifiers: [{ type: 'VERSION', value: 'none' }] };
const withPriority = (value: string) => ({
  classifiers: [...nowhere.classifiers, { type: 'PRIORITY', value }],
});

/** Tasks of every kind, in order of their requests; their names describe them. */
const NAMES = ['finished', 'failed', 'running', 'canceled', 'batch', 'urgent', 'Odd [a-z] Näme', 'plain'];

hubForAllTests();

let agent: FakeAgent;
const ids = new Map<string, string>();
beforeAll(async () => {
  agent = await FakeAgent.join(hub);
  for (const name of ['finished', 'failed', 'running']) {
    ids.set(name, await api.simulateWork({ name }));
    const { ref } = await agent.hear('assign');
    if (name !== 'running') await agent.end(ref, name === 'finished' ? 'OK' : 'FAILED');
  }
  ids.set('canceled', await api.simulateWork({ name: 'canceled', ...nowhere }));
  await api.delete(`${TASKS}/${ids.get('canceled')}/cancel`);
  ids.set('batch', await api.batchJob({ name: 'batch', ...nowhere }));
  ids.set('urgent', await api.simulateWork({ name: 'urgent', ...withPriority('HIGHEST') }));
  for (const name of ['Odd [a-z] Näme', 'plain']) ids.set(name, await api.simulateWork({ name, ...nowhere }));
});
afterAll(() => agent.leave());

type Item = Readonly<Record<string, unknown>>;
const list = async (query = '') => (await api.get(PATH + query)).body;
const names = async (query: string) => ((await list(query))['content'] as Item[]).map(({ name }) => name);
const newestFirst = [...NAMES].reverse();

describe('a page of tasks', () => {
  it('has every field, and the newest request first', async () => {
    const page = await list();
    expect(page).toEqual({
      content: expect.any(Array),
      pageSize: 20,
      pageNumber: 0,
      totalElements: 8,
      totalPages: 1,
      size: 8,
      first: true,
      last: true,
    });
    const content = page['content'] as Item[];
    expect(content.map(({ name }) => name)).toEqual(newestFirst);
    expect(content[2]).toEqual({
      id: ids.get('urgent'),
      type: 'SIMULATE_WORK',
      name: 'urgent',
      priority: 'HIGHEST',
      classifiers: withPriority('HIGHEST').classifiers,
      requestedDatetime: time,
      status: 'WAITING',
      message: expect.stringMatching(
        /^The task waits .* none offers version "none"; it waits until one does\.$/,
      ),
    });
    expect(content[7]).toEqual(await api.task(ids.get('finished') ?? ''));
  });

  it.each<[string, object, string[]]>([
    ['?size=3', { size: 3, pageSize: 3, totalPages: 3, first: true, last: false }, newestFirst.slice(0, 3)],
    ['?size=3&page=1', { size: 3, pageNumber: 1, first: false, last: false }, newestFirst.slice(3, 6)],
    ['?size=3&page=2', { size: 2, pageNumber: 2, first: false, last: true }, newestFirst.slice(6)],
    ['?size=3&page=3', { size: 0, pageNumber: 3, totalPages: 3, first: false, last: true }, []],
    ['?size=8', { size: 8, totalPages: 1, first: true, last: true }, newestFirst],
    ['?size=1&page=7', { size: 1, totalPages: 8, last: true }, ['finished']],
    ['?size=2000', { pageSize: 2000 }, newestFirst],
    ['?size=2001', { pageSize: 2000 }, newestFirst],
    ['?size=999999999999999&page=999999999999999', { pageSize: 2000, size: 0, last: true }, []],
    ['?page=0&color=red&sort=name', { pageNumber: 0, size: 8 }, newestFirst],
  ])('%s', async (query, page, expected) => {
    expect(await list(query)).toMatchObject({ totalElements: 8, ...page });
    expect(await names(query)).toEqual(expected);
  });

  it('without tasks has totalPages 0, and is the first and the last', async () => {
    for (const page of [0, 5]) {
      expect(await list(`?name=nobody&page=${page}`)).toEqual({
        content: [],
        pageSize: 20,
        pageNumber: page,
        totalElements: 0,
        totalPages: 0,
        size: 0,
        first: true,
        last: true,
      });
    }
  });
});

describe('a filter of the task list', () => {
  it.each<[string, string[]]>([
    ['?type=EXECUTE_BATCH_JOB', ['batch']],
    ['?type=execute_batch_job', ['batch']],
    ['?priority=HIGHEST', ['urgent']],
    ['?priority=highest', ['urgent']],
    ['?priority=LOW', []],
    ['?status=FINISHED', ['finished']],
    ['?status=finished&status=FAILED', ['failed', 'finished']],
    ['?status=running,Canceled', ['canceled', 'running']],
    ['?status=RUNNING,FAILED&status=FINISHED', ['running', 'failed', 'finished']],
    ['?status=RUNNING&status=RUNNING', ['running']],
    ['?status=', newestFirst],
    ['?name=PLAIN', ['plain']],
    ['?name=*L*ED', ['canceled', 'failed']],
    ['?name=?lain', ['plain']],
    ['?name=odd%20[a-z]%20n%C3%84me', ['Odd [a-z] Näme']],
    ['?name=odd%20[a-z]*', ['Odd [a-z] Näme']],
    ['?name=odd%20[*', ['Odd [a-z] Näme']],
    ['?name=*[a-z]*', ['Odd [a-z] Näme']],
    ['?name=lain', []],
    ['?name=', []],
    ['?name=%25', []],
    ['?creator=*', []],
    ['?status=WAITING&type=SIMULATE_WORK&priority=NORMAL', ['plain', 'Odd [a-z] Näme']],
    ['?status=WAITING&size=2', ['plain', 'Odd [a-z] Näme']],
  ])('%s', async (query, expected) => {
    expect(await names(query)).toEqual(expected);
  });

  it('by id matches the whole id, or wildcards', async () => {
    const id = ids.get('batch') ?? '';
    expect(await names(`?id=${id}`)).toEqual(['batch']);
    expect(await names(`?id=${id.slice(0, 35)}`)).toEqual([]);
    expect(await names(`?id=*${id.slice(24)}`)).toEqual(['batch']);
    expect(await names('?id=????????-*')).toHaveLength(8);
  });

  it('counts matches on all pages in totalElements', async () => {
    expect(await list('?status=WAITING&size=1')).toMatchObject({ totalElements: 4, totalPages: 4, size: 1 });
  });
});

describe('a bad query of a list', () => {
  const page = 'must be a whole number of at least 0, given once';
  const size = 'must be a whole number of at least 1, given once';
  it.each<[string, string]>([
    ['?page=-1', `page: ${page}`],
    ['?page=one', `page: ${page}`],
    ['?page=1.0', `page: ${page}`],
    ['?page=', `page: ${page}`],
    ['?page=%201', `page: ${page}`],
    ['?page=1e1', `page: ${page}`],
    ['?page=9999999999999999', `page: ${page}`],
    ['?page=1&page=1', `page: ${page}`],
    ['?size=0', `size: ${size}`],
    ['?size=-5', `size: ${size}`],
    ['?size=ten', `size: ${size}`],
    ['?size=5&size=6', `size: ${size}`],
    ['?type=JOB', 'type: must be one of SIMULATE_WORK, EXECUTE_BATCH_JOB'],
    ['?type=', 'type: must be one of SIMULATE_WORK, EXECUTE_BATCH_JOB'],
    ['?type=SIMULATE_WORK&type=SIMULATE_WORK', 'type: must be one of SIMULATE_WORK, EXECUTE_BATCH_JOB'],
    ['?priority=URGENT', 'priority: must be one of HIGHEST, HIGH, NORMAL, LOW, LOWEST'],
    ['?status=DONE', 'status[0]: must be one of WAITING, RUNNING, FINISHED, FAILED, CANCELED'],
    ['?status=RUNNING,DONE', 'status[1]: must be one of WAITING, RUNNING, FINISHED, FAILED, CANCELED'],
    ['?name=a&name=b', 'name: must be given once'],
    ['?id=a&id=b', 'id: must be given once'],
    ['?creator=a&creator=b', 'creator: must be given once'],
    ['?page=x&size=0', `page: ${page}; size: ${size}`],
  ])('%s is answered with 400', async (query, message) => {
    expectError(await api.get(PATH + query), 400, PATH, message);
  });
});

describe('a filter with wildcards', () => {
  it.each(['id', 'name', 'creator', 'note'])('has at most 256 characters: %s', async (field) => {
    const longest = `*${'x'.repeat(255)}`;
    expect((await list(`?${field}=${longest}`))['totalElements']).toBe(0);
    const answer = await api.get(`${PATH}?${field}=${longest}x`);
    expectError(answer, 400, PATH, new RegExp(`^${field}: with wildcards must have at most 256 characters$`));
  });

  it('may be longer without wildcards', async () => {
    expect((await list(`?name=${'x'.repeat(1000)}`))['totalElements']).toBe(0);
  });
});
