/** What all clients share: nobody takes it from the others (contract 12.37). */
import { type ClientRequest, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { Hub } from '@workbench-hub/client';
import { afterEach, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { AUTH, logIn } from '../support/hubs/login.js';
import { passwordOf, type RunningHub, startHub, USERS } from '../support/hubs/running-hub.js';
import { Api, expectError } from '../support/interface/api.js';
import { EventReader } from '../support/interface/event-reader.js';

const LIST = '/api/2.0/workbench/task/list';
const EVENTS = '/api/x/events';

let hub: RunningHub;
const open = new Set<{ close(): void }>();
afterEach(async () => {
  for (const each of open) each.close();
  open.clear();
  await hub.stop();
});

async function start(config: Parameters<typeof startHub>[0] = {}): Promise<void> {
  hub = await startHub({ hubs: 1, users: USERS, ...config });
}

async function as(username: string): Promise<Api> {
  const { accessToken } = await logIn(new Api(hub), username);
  return new Api(hub, accessToken);
}

/** Messages of responses to logins that were too slow. */
const toldTooSlow = new Set<unknown>();

/** A login whose body never comes; resolves with the status of its response. */
function silentLogin(from?: string): Promise<number> {
  const forwarded = from === undefined ? {} : { 'x-forwarded-for': from };
  const outgoing: ClientRequest = request(`${hub.address}${AUTH.LOGIN}`, {
    method: 'POST',
    agent: false,
    headers: { 'content-type': 'application/json', 'content-length': 60, ...forwarded },
  });
  outgoing.flushHeaders();
  open.add({ close: () => outgoing.destroy() });
  return new Promise((resolve) => {
    outgoing.once('error', () => resolve(0));
    outgoing.once('response', async (response) => {
      if (response.statusCode === 408)
        toldTooSlow.add((JSON.parse(await text(response)) as { message: unknown }).message);
      else response.resume();
      resolve(response.statusCode ?? 0);
    });
  });
}

async function follow(path: string, { token }: Api): Promise<EventReader> {
  const reader = await EventReader.open(hub, path, { token });
  open.add(reader);
  return reader;
}

it('logins without a body hold up neither those who are logged in nor other addresses, and end after seconds', async () => {
  await start({ config: { limits: { openRequests: 40 }, server: { trustedProxies: ['127.0.0.1'] } } });
  const ulla = await as('ulla');
  const silent = Array.from({ length: 60 }, () => silentLogin('198.51.100.7'));
  const refused = await Promise.race(silent);
  expect(refused).toBe(503);
  expect((await ulla.get(LIST)).status).toBe(200);
  const elsewhere = await new Api(hub).call('POST', AUTH.LOGIN, {
    json: { username: 'udo', password: passwordOf('udo') },
    headers: { 'x-forwarded-for': '203.0.113.9' },
  });
  expect(elsewhere.status, elsewhere.text).toBe(200);
  const statuses = new Set(await Promise.all(silent));
  expect(statuses).toEqual(new Set([503, 408]));
  expect([...toldTooSlow]).toEqual(['a body without a token must arrive within 5 s']);
  expect((await logIn(new Api(hub), 'vera')).accessToken).not.toBe('');
});

it('a user who waits for many results leaves room for the others', async () => {
  await start({ config: { limits: { openRequests: 40 } } });
  const [ulla, udo] = [await as('ulla'), await as('udo')];
  const id = await ulla.batchJob();
  const path = `/api/2.0/workbench/task/execute-batch-job/${id}/result`;
  /** Asks again as long as too many tokens from the address are being checked. */
  const poll = async () => {
    for (;;) {
      const answer = await ulla.get(`${path}?timeout=60`);
      if (answer.status !== 503 || !answer.text.includes('127.0.0.1 holds')) return answer;
    }
  };
  const polls = Array.from({ length: 40 }, poll);
  const refused = await Promise.race(polls);
  expectError(refused, 503, path, /ulla holds \d+ of the requests that can be open \(limits\.openRequests\)/);
  // The first was refused while others were being checked; those that were refused since have left room.
  await eventually(async () => {
    polls.push(poll());
    return (await ulla.get(LIST)).status === 503;
  });
  expect((await udo.get(LIST)).status).toBe(200);
  expect((await udo.delete(`/api/2.0/workbench/task/${id}/cancel`)).status).toBe(403);
  const anna = await as('anna');
  expect((await anna.delete(`/api/2.0/workbench/task/${id}/cancel`)).status).toBe(204);
  await Promise.all(polls);
  expect((await ulla.get(LIST)).status).toBe(200);
});

it('a user has at most 16 streams of events, with 8 filters', async () => {
  await start();
  const [vera, ulla] = [await as('vera'), await as('ulla')];
  const filtered = (count: number) => `${EVENTS}?name=${'*'.repeat(count)}`;
  const streams: EventReader[] = [];
  // One filter, however many wildcards say it.
  for (let count = 1; count <= 9; count++) streams.push(await follow(filtered(count), vera));
  for (let count = 1; count <= 7; count++) streams.push(await follow(`${EVENTS}?name=a${count}`, vera));
  expect(streams.map(({ response }) => response.status)).toEqual(streams.map(() => 200));
  const refused = await vera.get(EVENTS);
  expectError(refused, 429, EVENTS, /^vera has 16 streams of events open/);
  expect(refused.headers.get('retry-after')).toBe('5');
  expect(refused.headers.get('x-error-code')).toBe('TOO_MANY_STREAMS');
  expect((await follow(EVENTS, ulla)).response.status).toBe(200);
  streams[0]?.close();
  const another = await eventually(async () => {
    const reader = await follow(`${EVENTS}?name=b`, vera);
    return reader.response.status === 429 && reader;
  });
  expect(await another.response.text()).toMatch(/vera has 16 streams of events open|8 different filters/);
  await eventually(async () => (await follow(filtered(1), vera)).response.status === 200);
});

it('a client waits for more tasks than it may have streams for', async () => {
  await start();
  const ulla = await as('ulla');
  for (let count = 1; count <= 8; count++) await follow(`${EVENTS}?name=a${count}`, ulla);
  const client = new Hub({ url: hub.address, token: ulla.token ?? '' });
  const task = client.task(await ulla.batchJob());
  const seen: unknown[] = [];
  const ended = task.wait({ onChange: ({ status }) => seen.push(status) });
  await eventually(() => seen.length > 0);
  await task.cancel();
  expect((await ended).status).toBe('CANCELED');
  expect(seen).toEqual(['WAITING', 'CANCELED']);
});

it('a user follows at most 64 logs', async () => {
  await start();
  const [vera, ulla] = [await as('vera'), await as('ulla')];
  const id = await ulla.batchJob();
  const path = `/api/x/tasks/${id}/log`;
  const readers = await Promise.all(Array.from({ length: 64 }, () => follow(path, vera)));
  expect(readers.map(({ response }) => response.status)).toEqual(readers.map(() => 200));
  expectError(await vera.get(path), 429, path, /^vera follows 64 logs/);
  expect((await follow(path, ulla)).response.status).toBe(200);
  for (const reader of readers) reader.close();
  await eventually(async () => (await follow(path, vera)).response.status === 200);
});

it('a client reads the logs that its user may not follow', async () => {
  await start();
  const ulla = await as('ulla');
  const id = await ulla.batchJob();
  await Promise.all(Array.from({ length: 64 }, () => follow(`/api/x/tasks/${id}/log`, ulla)));
  const task = new Hub({ url: hub.address, token: ulla.token ?? '' }).task(await ulla.batchJob());
  await task.cancel();
  const events: unknown[] = [];
  for await (const event of task.log()) events.push(event);
  expect(events).toEqual([{ type: 'end', status: 'CANCELED' }]);
});
