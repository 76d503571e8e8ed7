/** One id for a request: in its response, in the logs, with the task and on the agent. */
import { expect, it } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { api, hub, hubForEachTest } from '../support/hubs/hub-for-tests.js';

hubForEachTest();

const UUID = /^[0-9a-f-]{36}$/;
const idOf = async (path: string, given?: string, init: RequestInit = {}) => {
  const headers = given === undefined ? {} : { 'x-request-id': given };
  return (await fetch(hub.address + path, { ...init, headers })).headers.get('x-request-id');
};

it('each request gets a request id, also a refused one, and never the same', async () => {
  const seen = new Set<string | null>();
  for (const path of [
    '/livez',
    '/nowhere',
    '/api/2.0/workbench/task/nobody',
    '/agent/files/nothing',
    '/docs',
  ]) {
    const id = await idOf(path);
    expect(id, path).toMatch(UUID);
    seen.add(id);
  }
  expect(seen.size).toBe(5);
  expect(await idOf('/livez', undefined, { method: 'PUT' })).toMatch(UUID);
});

it('the request id of the client or its proxy is used if it is fit for a log', async () => {
  for (const given of ['a', 'build-4711/step:7', '01a1fefc-7c80-759c-bc6b-f4501ed6f9e5', 'x'.repeat(128)]) {
    expect(await idOf('/livez', given)).toBe(given);
  }
  for (const given of ['', ' ', 'two words', 'x'.repeat(129), '<b>', '"', '-dash', 'a,b']) {
    expect(await idOf('/livez', given), given).toMatch(UUID);
  }
});

it('the request id of a task is sent to its agent, the same for each attempt', async () => {
  const agent = await FakeAgent.join(hub);
  const { status } = await api.call('POST', '/api/2.0/workbench/task/simulate-work/create', {
    json: { duration: 1 },
    headers: { 'x-request-id': 'order-7' },
  });
  expect(status).toBe(201);
  const { ref, requestId } = await agent.hear('assign');
  expect(requestId).toBe('order-7');
  agent.report(ref, 'INSTANCE_LOST');
  const again = await agent.hear('assign');
  expect(again).toMatchObject({ ref: { attempt: 2 }, requestId: 'order-7' });
  expect(hub.log).toContainEqual(
    expect.objectContaining({ msg: 'task requeued', taskId: ref.taskId, requestId: 'order-7' }),
  );
});
