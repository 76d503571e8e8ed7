/** Preparing a shutdown (contract 9.6). */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { HUBS, PREPARE_SHUTDOWN, SHUTDOWN_SCOPE, SHUTDOWN_STATUS } from '../support/hubs/hubs-under-test.js';
import { type RunningHub, startHub } from '../support/hubs/running-hub.js';
import { Api, base64, expectError, LOCAL_TIMESTAMP } from '../support/interface/api.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const STATUS = SHUTDOWN_STATUS;
const CHANGE = PREPARE_SHUTDOWN;
const LOCKED = /prepared for a shutdown and accepts no tasks/;
const initiated = {
  initiated: true,
  initiationTime: expect.stringMatching(LOCAL_TIMESTAMP),
  ...SHUTDOWN_SCOPE,
};
const notInitiated = { initiated: false, ...SHUTDOWN_SCOPE };

let folder: TemporaryFolder;
let hub: RunningHub;
let api: Api;
let agent: FakeAgent;
beforeEach(async () => {
  folder = await temporaryFolder();
  hub = await startHub({ dataDir: folder.path });
  api = new Api(hub);
  agent = await FakeAgent.join(hub);
});
afterEach(async () => {
  await agent.leave();
  await hub.stop();
  await folder.remove();
});

async function change(value: boolean) {
  const answer = await api.post(CHANGE, { initiated: value });
  expect(answer.status).toBe(200);
  // Each hub has heard of it when it tells the status.
  for (const address of hub.addresses)
    expect((await new Api({ address }).get(STATUS)).body).toEqual(answer.body);
  return answer.body;
}

it('the status of the shutdown preparation has the time of the first request, and only while it is initiated', async () => {
  expect((await api.get(STATUS)).body).toEqual(notInitiated);
  const began = await change(true);
  expect(began).toEqual(initiated);
  expect(await change(true)).toEqual(began);
  expect(await change(false)).toEqual(notInitiated);
  expect(await change(false)).toEqual(notInitiated);
});

describe('during shutdown preparation', () => {
  it.each(['1.0', '1.1', '2.0'])(
    'creating a task in %s is answered with 423, and stores nothing',
    async (generation) => {
      await change(true);
      const base = `/api/${generation}/workbench/task`;
      for (const [kind, body] of [
        ['simulate-work', { duration: 1 }],
        ['execute-batch-job', { inputScripts: [{ content: base64('1') }] }],
      ] as const) {
        expectError(await api.post(`${base}/${kind}/create`, body), 423, `${base}/${kind}/create`, LOCKED);
      }
      expect((await api.get(`${base}/list`)).body).toMatchObject({ totalElements: 0 });
    },
  );

  it('no request body is read', async () => {
    await change(true);
    const path = '/api/2.0/workbench/task/simulate-work/create';
    expectError(await api.post(path, {}), 423, path, /accepts no tasks/);
    await change(false);
    expectError(await api.post(path, {}), 400, path, 'duration: is required');
  });

  it('the running task ends and the waiting one stays, until the preparation is revoked', async () => {
    const running = await api.simulateWork();
    const { ref } = await agent.hear('assign');
    const waiting = await api.simulateWork();
    await change(true);
    const result = api.get(`/api/2.0/workbench/task/simulate-work/${running}/result?timeout=60`);
    expect(await agent.end(ref, 'OK')).toBe(true);
    expect((await result).body).toMatchObject({ status: 'FINISHED' });

    // Events that would cause a round: an instance comes up, another agent joins.
    const second = await FakeAgent.join(hub, { id: 'agent-2', instances: [{ id: 'sim-2' }] });
    expect(await api.task(waiting)).toMatchObject({ status: 'WAITING' });
    expect([...agent.heard, ...second.heard].filter(({ type }) => type === 'assign')).toHaveLength(1);
    const explained = (await api.get(`/api/x/tasks/${waiting}/explain`)).body;
    expect(explained).toMatchObject({ verdict: 'PAUSED' });

    await change(false);
    const given = await eventually(() =>
      [...agent.heard, ...second.heard].find(
        (message) => message.type === 'assign' && message.ref.taskId === waiting,
      ),
    );
    expect(given).toMatchObject({ type: 'assign' });
    await second.leave();
  });

  it('lists, cancel, delete and joins of agents continue to work', async () => {
    const id = await api.simulateWork({ classifiers: [{ type: 'VERSION', value: 'none' }] });
    await change(true);
    const base = '/api/2.0/workbench/task';
    expect((await api.get(`${base}/list`)).body).toMatchObject({ totalElements: 1 });
    expect((await api.delete(`${base}/${id}/cancel`)).status).toBe(204);
    expect((await api.delete(`${base}/${id}/delete`)).status).toBe(204);
    expect((await api.get('/readyz')).status).toBe(200);
  });
});

// A preparation of all hubs does not end with their restart.
if (HUBS === 1) {
  it('a restart ends the shutdown preparation, and the waiting task is dispatched', async () => {
    const running = await api.simulateWork();
    const { ref } = await agent.hear('assign');
    const waiting = await api.simulateWork();
    await change(true);
    await agent.end(ref, 'OK');
    await hub.stop();
    hub = await startHub({ dataDir: folder.path });
    api = new Api(hub);
    expect((await api.get(STATUS)).body).toEqual(notInitiated);
    expect(await api.task(running)).toMatchObject({ status: 'FINISHED' });
    agent = await FakeAgent.join(hub);
    expect((await agent.hear('assign')).ref.taskId).toBe(waiting);
    await api.simulateWork();
  });
}

it.each<[unknown, string]>([
  [{}, 'initiated: is required'],
  [{ initiated: 'true' }, 'initiated: must be true or false'],
  [{ initiated: 1 }, 'initiated: must be true or false'],
  [{ initiated: null }, 'initiated: must be true or false'],
  [true, 'body: must be an object'],
])('a change of the shutdown preparation with the body %j is refused', async (body, message) => {
  expectError(await api.post(CHANGE, body), 400, '/api/2.0/admin/prepare-shutdown/change', message);
  expect((await api.get(STATUS)).body).toEqual(notInitiated);
});

it('a change of the shutdown preparation ignores unknown fields', async () => {
  const answer = await api.post(CHANGE, {
    initiated: true,
    initiationTime: '2000-01-01T00:00:00.000',
    by: 'anna',
  });
  expect(answer.body).toEqual(initiated);
  expect(answer.body['initiationTime']).not.toMatch(/^2000/);
});
