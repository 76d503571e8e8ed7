/** GET /api/x/tasks and GET /api/x/events (contract 12.9 and 12.10). */
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { inflateSync } from 'node:zlib';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { HUBS } from '../support/hubs/hubs-under-test.js';
import { logIn } from '../support/hubs/login.js';
import { type HubSetup, type RunningHub, startHub, USERS } from '../support/hubs/running-hub.js';
import { Api, expectError, OFFSET_TIMESTAMP } from '../support/interface/api.js';
import { EventReader, type ReadEvent } from '../support/interface/event-reader.js';
import { confirmedFileOf } from '../support/stores/tested-store.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const EVENTS = '/api/x/events';
const LIST = '/api/x/tasks';
const NOWHERE = { classifiers: [{ type: 'VERSION', value: 'none' }] };

let folder: TemporaryFolder;
let hub: RunningHub;
let api: Api;

async function start(setup: HubSetup = {}): Promise<void> {
  hub = await startHub({ dataDir: join(folder.path, 'hub'), ...setup });
  api = new Api(hub);
}

beforeEach(async () => {
  folder = await temporaryFolder();
  onTestFinished(folder.remove);
  await start();
  onTestFinished(() => hub.stop());
});

async function listen(query = '', lastEventId?: string): Promise<EventReader> {
  const reader = await EventReader.open(
    hub,
    EVENTS + query,
    lastEventId === undefined ? {} : { lastEventId },
  );
  onTestFinished(() => reader.close());
  return reader;
}

const cancel = (id: string) => api.delete(`/api/2.0/workbench/task/${id}/cancel`);
const statusIs = (status: string) => (event: { data: Record<string, unknown> }) =>
  event.data['status'] === status;
const listed = async (query = '') => {
  const { status, body, text } = await api.get(LIST + query);
  expect(status, text).toBe(200);
  return body as { tasks: Record<string, unknown>[]; next?: string; cursor: string; total: number };
};
const namesOf = async (query: string) => (await listed(query)).tasks.map(({ name }) => name);

/** The whole stream up to its end, as it was sent. */
async function sent(
  query: string,
  headers: Record<string, string>,
): Promise<{ encoding?: string; bytes: Buffer }> {
  const asked = request(`${hub.address}${EVENTS}${query}`, { headers }).end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  expect(answer.headers.vary).toContain('accept-encoding');
  const encoding = answer.headers['content-encoding'];
  return { bytes: await buffer(answer), ...(encoding === undefined ? {} : { encoding }) };
}

describe('the stream of events', () => {
  it('is compressed for clients that take deflate, as one stream with its checksum', async () => {
    const { cursor } = await listed();
    for (let count = 0; count < 20; count++) await api.simulateWork(NOWHERE);
    const sentFor = (headers: Record<string, string>) => sent(`?timeout=0&since=${cursor}`, headers);
    const plain = await sentFor({});
    expect(plain.encoding).toBeUndefined();
    expect(plain.bytes.toString().match(/event: task/g)).toHaveLength(20);
    for (const accepted of ['deflate', 'gzip, deflate, br', 'gzip;q=1.0, deflate;q=0.5']) {
      const { encoding, bytes } = await sentFor({ 'accept-encoding': accepted });
      expect([accepted, encoding]).toEqual([accepted, 'deflate']);
      expect(inflateSync(bytes).toString()).toBe(plain.bytes.toString());
    }
    // Compression is for many; a few get their bytes as they are.
    for (let count = 0; count < 8 * HUBS; count++) await listen();
    const { bytes } = await sentFor({ 'accept-encoding': 'deflate' });
    expect(inflateSync(bytes).toString()).toBe(plain.bytes.toString());
    expect(bytes.length).toBeLessThan(plain.bytes.length / 3);
    for (const accepted of ['gzip', 'identity', 'deflate;q=0', 'gzip, deflate;q=0.0'])
      expect(await sentFor({ 'accept-encoding': accepted })).toEqual({ bytes: plain.bytes });
  });

  it('begins at once, and is neither cached nor held back by proxies', async () => {
    const reader = await listen();
    expect(reader.response.status).toBe(200);
    expect(Object.fromEntries(reader.response.headers)).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    });
    const { cursor } = await listed();
    expect(await reader.next()).toEqual({ type: 'hello', id: cursor, data: { cursor } });
  });

  it('tells of each transition of a task', async () => {
    const agent = await FakeAgent.join(hub);
    const reader = await listen();
    await reader.next();
    const id = await api.simulateWork({ name: 'followed' });
    const { ref } = await agent.hear('assign');
    const running = await reader.find(statusIs('RUNNING'));
    expect(running).toEqual({
      type: 'task',
      id: expect.stringMatching(/^[\w.-]{1,250}$/),
      data: {
        id,
        type: 'SIMULATE_WORK',
        name: 'followed',
        priority: 'NORMAL',
        classifiers: [],
        status: 'RUNNING',
        requestedAt: expect.stringMatching(OFFSET_TIMESTAMP),
        startedAt: expect.stringMatching(OFFSET_TIMESTAMP),
        attempt: 1,
        instance: { id: 'sim-1', version: '9.1.0', revision: '4711', agentId: 'agent-1' },
      },
    });
    await agent.end(ref, 'OK');
    expect((await reader.find(statusIs('FINISHED'))).data).toMatchObject({ id, attempt: 1 });
    await api.delete(`/api/2.0/workbench/task/${id}/delete`);
    const removed = await reader.next();
    expect(removed).toMatchObject({ type: 'removed', data: { id, deleted: true } });
    await agent.leave();
  });

  it('continues where a client was, by since or by Last-Event-ID', async () => {
    const { cursor } = await listed();
    const ids = await Promise.all(['a', 'b', 'c'].map((name) => api.simulateWork({ name, ...NOWHERE })));
    const reader = await listen(`?since=${cursor}`);
    expect(await reader.next()).toMatchObject({ type: 'hello', data: { cursor } });
    const [first, second, third] = [await reader.next(), await reader.next(), await reader.next()];
    expect(new Set([first, second, third].map((event) => event?.data['id']))).toEqual(new Set(ids));
    reader.close();
    await cancel(String(first?.data['id']));
    // The header has precedence, as a browser repeats the address when it connects again.
    const again = await listen(`?since=${cursor}`, second?.id ?? '');
    await again.next();
    expect((await again.next())?.data).toEqual(third?.data);
    expect((await again.next())?.data).toMatchObject({ id: first?.data['id'], status: 'CANCELED' });
  });

  it('continues after a restart of the hub', async () => {
    const id = await api.simulateWork(NOWHERE);
    const { cursor } = await listed();
    await cancel(id);
    await hub.stop();
    await start();
    const later = await api.simulateWork(NOWHERE);
    const reader = await listen(`?since=${cursor}`);
    expect((await reader.next())?.type).toBe('hello');
    expect((await reader.next())?.data).toMatchObject({ id, status: 'CANCELED' });
    expect((await reader.next())?.data).toMatchObject({ id: later, status: 'WAITING' });
  });

  it('has the order of requests, each of which was made after the response to the one before (contract 12.29)', async () => {
    const { cursor } = await listed();
    const expected: [id: string, status: unknown][] = [];
    for (let round = 0; round < 5; round++) {
      const [first, second] = [await api.simulateWork(NOWHERE), await api.simulateWork(NOWHERE)];
      await cancel(first);
      const third = await api.simulateWork(NOWHERE);
      await cancel(second);
      await api.delete(`/api/2.0/workbench/task/${first}/delete`);
      expected.push([third, 'WAITING'], [second, 'CANCELED'], [first, undefined]);
    }
    const toldSince = async (since: string) => {
      const [, ...events] = await (await listen(`?since=${since}&timeout=0`)).rest();
      return events;
    };
    const events = await toldSince(cursor);
    const told = events.map(({ data }) => [data['id'], data['status']]);
    expect(told).toEqual(expected);
    // The same from any place.
    for (const [at, { id }] of events.entries()) {
      const rest = await toldSince(String(id));
      expect(rest.map(({ data }) => [data['id'], data['status']])).toEqual(expected.slice(at + 1));
    }
  });

  it.each(['', '?since=5f0c6a9e1b3d.3', '?since=1', '?since=%0aevent:%20x', '?since=x.9999999999999999'])(
    'says that it cannot continue at %j, unless no cursor was given',
    async (query) => {
      const reader = await listen(query);
      expect((await reader.next())?.type).toBe('hello');
      const id = await api.simulateWork(NOWHERE);
      const next = await reader.next();
      if (query === '') return expect(next?.data).toMatchObject({ id });
      expect(next).toMatchObject({ type: 'reset', data: { cursor: next?.id } });
      // The task may be from before the reset.
      const { tasks, cursor } = await listed();
      expect(tasks).toMatchObject([{ id }]);
      expect((await listen(`?since=${cursor}&timeout=0`)).response.status).toBe(200);
    },
  );

  // Each hub has in its data folder what was confirmed.
  if (HUBS === 1) {
    it('begins anew after a restore, in which numbers are used again', async () => {
      await api.simulateWork(NOWHERE);
      const { cursor } = await listed();
      await hub.stop();
      rmSync(confirmedFileOf(join(folder.path, 'hub')));
      await start();
      const reader = await listen(`?since=${cursor}`);
      await reader.next();
      expect((await reader.next())?.type).toBe('reset');
    });
  }

  it('ends when all was told, with a timeout of 0', async () => {
    const { cursor } = await listed();
    for (let at = 0; at < 300; at++) await api.simulateWork(NOWHERE);
    const events = await (await listen(`?since=${cursor}&timeout=0`)).rest();
    expect(events.filter(({ type }) => type === 'task')).toHaveLength(300);
  });

  it('tells a client with a filter which tasks no longer match', async () => {
    const reader = await listen('?status=WAITING,RUNNING&name=mine*');
    await reader.next();
    await api.simulateWork({ name: 'other', ...NOWHERE });
    const id = await api.simulateWork({ name: 'MINE 1', ...NOWHERE });
    expect((await reader.next())?.data).toMatchObject({ id, status: 'WAITING' });
    await cancel(id);
    expect(await reader.next()).toMatchObject({ type: 'removed', data: { id, deleted: false } });
  });

  it('ends when the hub stops', async () => {
    const reader = await listen();
    await reader.next();
    const stopped = hub.stop();
    expect(await reader.next().catch(() => undefined)).toBeUndefined();
    await stopped;
  });

  it('refuses bad parameters', async () => {
    for (const [query, message] of [
      ['status=DONE', /^status\[0\]: must be one of/],
      ['from=today', /^from: must be a timestamp/],
      ['timeout=-1', /^timeout: must be a whole number/],
      ['since=a&since=b', /^since: must be given once/],
    ] as const) {
      expectError(await api.get(`${EVENTS}?${query}`), 400, EVENTS, message);
    }
  });

  it('answers HEAD without a stream', async () => {
    const { status, headers, text } = await api.call('HEAD', EVENTS);
    expect([status, headers.get('content-type'), text]).toEqual([200, 'text/event-stream', '']);
  });
});

describe('with security on', () => {
  beforeEach(async () => {
    await hub.stop();
    await start({ users: USERS });
  });

  it('needs a token, and ends with the session of its caller', async () => {
    expect((await api.get(EVENTS)).status).toBe(401);
    const { accessToken, cookie } = await logIn(api, 'vera');
    const ulla = await api.asUser('ulla');
    const reader = await EventReader.open(hub, EVENTS, { token: accessToken });
    const other = await EventReader.open(hub, EVENTS, { token: ulla.token });
    onTestFinished(() => reader.close());
    onTestFinished(() => other.close());
    await reader.next();
    await other.next();
    const told = await ulla.simulateWork(NOWHERE);
    expect((await reader.next())?.data['id']).toBe(told);
    await api.call('GET', '/api/2.0/auth/logout', { headers: { cookie } });
    let rest: ReadEvent[] | undefined;
    void reader.rest().then((events) => {
      rest = events;
    });
    // An authorization counts for a second.
    await eventually(async () => {
      const id = await ulla.simulateWork(NOWHERE);
      await other.find(({ data }) => data['id'] === id);
      return rest !== undefined;
    });
  });
});

describe('the list of tasks', () => {
  it('shows windows that new tasks do not shift, with exact counts', async () => {
    for (const name of ['1', '2', '3', '4', '5']) await api.simulateWork({ name, ...NOWHERE });
    const first = await listed('?limit=2');
    expect(first.tasks.map(({ name }) => name)).toEqual(['5', '4']);
    expect(first).toMatchObject({ total: 5, counts: { WAITING: 5, RUNNING: 0, CANCELED: 0 } });
    await api.simulateWork({ name: '6', ...NOWHERE });
    await cancel(String((await listed('?name=4')).tasks[0]?.['id']));
    const second = await listed(`?limit=2&after=${first.next}`);
    expect(second.tasks.map(({ name }) => name)).toEqual(['3', '2']);
    expect(second).toMatchObject({ total: 6, counts: { WAITING: 5, CANCELED: 1 } });
    const last = await listed(`?limit=2&after=${second.next}`);
    expect(last.tasks.map(({ name }) => name)).toEqual(['1']);
    expect(last).not.toHaveProperty('next');
    const canceled = await listed('?status=CANCELED');
    expect(canceled).toMatchObject({ total: 1, counts: { WAITING: 5, CANCELED: 1 } });
  });

  it('filters by time and by instance', async () => {
    const agents = [
      await FakeAgent.join(hub, { id: 'a', instances: [{ id: 'sim-a', version: '1' }] }),
      await FakeAgent.join(hub, { id: 'b', instances: [{ id: 'sim-b', version: '2' }] }),
    ];
    const on = (value: string) => ({ classifiers: [{ type: 'VERSION', value }] });
    await api.simulateWork({ name: 'on a', ...on('1') });
    await api.simulateWork({ name: 'on b', ...on('2') });
    for (const agent of agents) await agent.hear('assign');
    await api.simulateWork({ name: 'waiting', ...on('1') });
    expect(await namesOf('?instance=sim-a')).toEqual(['on a']);
    expect(await namesOf('?instance=sim-a,sim-b')).toEqual(['on b', 'on a']);
    expect(await namesOf('?instance=nobody')).toEqual([]);
    const { tasks } = await listed();
    const [waiting, onB, onA] = tasks.map(({ requestedAt }) => encodeURIComponent(String(requestedAt)));
    const soonAfter = encodeURIComponent(new Date(Date.now() + 1000).toISOString());
    expect(await namesOf(`?from=${onA}&to=${soonAfter}`)).toEqual(['waiting', 'on b', 'on a']);
    expect(await namesOf(`?to=${onA}`)).toEqual([]);
    expect(await namesOf(`?from=${soonAfter}`)).toEqual([]);
    expect(await namesOf(`?from=${onB}`)).toContain('on b');
    expect(await namesOf(`?to=${waiting}`)).not.toContain('waiting');
    expect(await listed('?instance=sim-a')).toMatchObject({ total: 1, counts: { RUNNING: 1, WAITING: 0 } });
    for (const agent of agents) await agent.leave();
  });

  it('refuses a place that is none', async () => {
    expectError(
      await api.get(`${LIST}?after=x`),
      400,
      LIST,
      'after: must be the "next" of an earlier response',
    );
  });

  it('is answered with a cursor from before it was read', async () => {
    const { cursor } = await listed();
    const id = await api.simulateWork(NOWHERE);
    const events = await (await listen(`?since=${cursor}&timeout=0`)).rest();
    expect(events.map(({ data }) => data['id'])).toContain(id);
  });
});
