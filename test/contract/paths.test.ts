/** Each path is served in one spelling, so that rules of a proxy cannot be bypassed by another one. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { hub, hubForAllTests } from '../support/hubs/hub-for-tests.js';
import { Api } from '../support/interface/api.js';
import { type RawAnswer, rawSender } from '../support/interface/raw-request.js';

hubForAllTests();

let sender: ReturnType<typeof rawSender>;
beforeAll(() => {
  sender = rawSender(hub.address);
});
afterAll(async () => {
  sender.close();
});

const send = (target: string, method = 'GET'): Promise<RawAnswer> => sender.send({ method, target });
const INFO = '/api/2.0/monitoring/server-info';

it.each([
  '/api/2.0/%6Donitoring/server-info',
  '/%61pi/2.0/monitoring/server-info',
  '/api/2.0/monitoring/server-inf%6f',
  '/api/2%2E0/monitoring/server-info',
  '/api/2.0/monitoring%2Fserver-info',
  '/api%2F2.0%2Fmonitoring%2Fserver-info',
  '/api/2.0/workbench/../monitoring/server-info',
  '/api/2.0/workbench/%2e%2e/monitoring/server-info',
  '/api/2.0/workbench/.%2E/monitoring/server-info',
  '/x/../api/2.0/monitoring/server-info',
  '/api/2.0/./monitoring/server-info',
  '/api/2.0/%2e/monitoring/server-info',
  '/api/2.0//monitoring/server-info',
  '//api/2.0/monitoring/server-info',
  '/api/2.0/monitoring/server-info/',
  '/api/2.0/monitoring/server-info/.',
  '/api/2.0/monitoring/server-info/x/..',
  '/api/2.0/monitoring/server-info#',
  '/API/2.0/monitoring/server-info',
  'http://127.0.0.1/api/2.0/x/../monitoring/server-info',
])('nothing is served at %s', async (target) => {
  for (const method of ['GET', 'DELETE', 'OPTIONS']) {
    const { status, text } = await send(target, method);
    expect([method, status]).toEqual([method, 404]);
    expect(JSON.parse(text)).toMatchObject({
      message: expect.stringMatching(/^there is nothing at this path/),
    });
  }
});

it('the exact path is served, with any query, and also in absolute form', async () => {
  for (const target of [INFO, `${INFO}?a=/../b//c%2F`, `http://127.0.0.1${INFO}`]) {
    expect([target, (await send(target)).status]).toEqual([target, 200]);
  }
  expect((await send(INFO, 'DELETE')).status).toBe(405);
});

it('a parameter may be percent-encoded', async () => {
  const id = await new Api(hub).simulateWork();
  const encoded = id.replace(/^./, (first) => `%${first.charCodeAt(0).toString(16)}`).replaceAll('-', '%2D');
  const task = '/api/2.0/workbench/task';
  expect((await send(`${task}/${encoded}`)).status).toBe(200);
  expect((await send(`${task}/${encoded}`, 'PUT')).status).toBe(405);
  expect((await send(`${task}/simulate-work/${encoded}/result`)).status).toBe(200);
  expect((await send(`${task}/simulate-wor%6b/${id}/result`)).status).toBe(404);
  expect((await send('/api/2.0/storage/input/%67ear%2Ebin')).status).toBe(200);
});

it.each(['/%61gent/files/0', '/x/../agent/connect', '//agent/files/0', '/agent%2Ffiles/0'])(
  'nothing is served to agents at %s',
  async (target) => {
    expect((await send(target)).status).toBe(404);
  },
);
