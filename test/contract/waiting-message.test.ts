/** The `message` of tasks that wait or were canceled, in tasks, lists and results (contract 4.6). */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { api, hub, hubForEachTest } from '../support/hubs/hub-for-tests.js';
import { PREPARE_SHUTDOWN, SHUTDOWN_STATUS } from '../support/hubs/hubs-under-test.js';
import { Api } from '../support/interface/api.js';

const TASKS = '/api/2.0/workbench/task';
const WAITS = 'The task waits for a workbench instance.';
const gears = { classifiers: [{ type: 'LABLES', value: 'gears' }] };

hubForEachTest();

let agent: FakeAgent;
beforeEach(async () => {
  agent = await FakeAgent.join(hub, {
    instances: [
      { id: 'a', version: '9.1', labels: ['Gears'] },
      { id: 'b', version: '9.2', labels: ['cfd'], status: 'DOWN', upForMs: null },
    ],
  });
});
afterEach(() => agent.leave());

const messageAt = async (path: string) => (await api.get(`${TASKS}/${path}`)).body['message'];

/** The message of a waiting batch job: the same in task, list and result, and the beginning of its explanation. */
async function messageOf(id: string): Promise<string> {
  const message = await messageAt(id);
  expect(await messageAt(`execute-batch-job/${id}/result`)).toBe(message);
  const { content } = (await api.get(`${TASKS}/list?id=${id}`)).body as { content: object[] };
  expect(content).toEqual([expect.objectContaining({ id, message })]);
  const explained = (await api.get(`/api/x/tasks/${id}/explain`)).body['message'];
  expect(String(message).startsWith(`${WAITS} `)).toBe(true);
  const reason = String(message).slice(WAITS.length + 1);
  expect(String(explained).startsWith(reason.replace(/\.$/, ''))).toBe(true);
  return reason;
}

describe('the message of a waiting task', () => {
  it('counts the fitting instances that are busy', async () => {
    await api.batchJob(gears);
    await agent.hear('assign');
    for (const request of [gears, {}]) {
      const id = await api.batchJob(request);
      await eventually(async () => (await messageOf(id)) === '1 fitting instance is busy.');
    }
  });

  it('says that no known instance fits and what is missing', async () => {
    const labels = { classifiers: [{ type: 'LABLES', value: 'gears, magnets' }] };
    expect(await messageOf(await api.batchJob(labels))).toBe(
      'No known instance fits: none offers label "magnets"; it waits until one does.',
    );
    const both = { classifiers: [{ type: 'LABLES', value: 'gears, cfd' }] };
    expect(await messageOf(await api.batchJob(both))).toBe(
      'No known instance fits: 1 lacks only label "cfd", 1 lacks only label "gears"; it waits until one does.',
    );
  });

  it('is there as data under /api/x, as long as the task waits', async () => {
    const id = await api.batchJob({ classifiers: [{ type: 'LABLES', value: 'gears, magnets' }] });
    const { body: list } = await api.get('/api/x/tasks');
    const { body: whole } = await api.get(`/api/x/tasks/${id}`);
    const none = { satisfyingAll: 0, idle: 0, busy: 0, down: 0, unreachable: 0, drained: 0 };
    const waitReason = {
      verdict: 'NEVER',
      unsatisfied: [{ type: 'LABLES', value: 'magnets' }],
      instances: none,
    };
    expect(list['tasks']).toEqual([expect.objectContaining({ id, waitReason })]);
    expect(whole['waitReason']).toEqual(waitReason);
    await api.delete(`${TASKS}/${id}/cancel`);
    expect((await api.get(`/api/x/tasks/${id}`)).body).not.toHaveProperty('waitReason');
  });

  it('says that fitting instances are down, or their agent disconnected', async () => {
    const id = await api.batchJob({ classifiers: [{ type: 'LABLES', value: 'cfd' }] });
    expect(await messageOf(id)).toBe('1 instance fits, but none is up: 1 down, 0 unreachable.');
    await agent.leave();
    expect(await messageOf(id)).toBe('1 instance fits, but none is up: 0 down, 1 unreachable.');
  });

  it('says that a shutdown is prepared', async () => {
    await api.batchJob(gears);
    await agent.hear('assign');
    const id = await api.batchJob(gears);
    await api.post(PREPARE_SHUTDOWN, { initiated: true });
    // Each hub has heard of it when it tells the status.
    for (const address of hub.addresses) await new Api({ address }).get(SHUTDOWN_STATUS);
    expect(await messageOf(id)).toBe(
      'The hub is being prepared for a shutdown and dispatches no tasks until it is restarted.',
    );
  });

  it('follows the instances that an agent brings and takes away', async () => {
    const cfd = {
      classifiers: [
        { type: 'LABLES', value: 'cfd' },
        { type: 'VERSION', value: '10' },
      ],
    };
    const id = await api.batchJob(cfd);
    expect(await messageOf(id)).toBe(
      'No known instance fits: none offers version "10"; it waits until one does.',
    );
    const other = await FakeAgent.join(hub, {
      id: 'other',
      nodeId: '0c0e5e0e-0000-4000-8000-000000000001',
      instances: [{ id: 'c', version: '10', labels: ['cfd'], status: 'DOWN', upForMs: null }],
    });
    expect(await messageOf(id)).toBe('1 instance fits, but none is up: 1 down, 0 unreachable.');
    await other.leave();
    expect(await messageOf(id)).toBe('1 instance fits, but none is up: 0 down, 1 unreachable.');
  });

  it('names a few criteria only, and the beginning of each', async () => {
    const value = Array.from({ length: 9 }, (_, at) => `${at}${'x'.repeat(150)}`).join();
    const reason = await messageOf(await api.batchJob({ classifiers: [{ type: 'LABLES', value }] }));
    expect(reason).toMatch(/: none offers label "0x{99}…", .* and 4 more; it waits until one does\.$/);
    expect(reason.length).toBeLessThan(800);
  });

  it('follows the state in the result of simulated work, and is left out of 1.x', async () => {
    const id = await api.simulateWork({ classifiers: [{ type: 'VERSION', value: '7' }] });
    const message = `${WAITS} No known instance fits: none offers version "7"; it waits until one does.`;
    expect(await messageAt(`simulate-work/${id}/result`)).toBe(message);
    expect(await messageAt(`simulate-work/${id}/result?timeout=1`)).toBe(message);
    for (const generation of ['1.0', '1.1']) {
      const base = `/api/${generation}/workbench/task`;
      expect((await api.get(`${base}/${id}`)).body).not.toHaveProperty('message');
      expect((await api.get(`${base}/simulate-work/${id}/result`)).body['message']).toBe(WAITS);
    }
  });

  it('is absent from a task that no longer waits', async () => {
    const id = await api.batchJob(gears);
    await agent.hear('assign');
    expect(await api.task(id)).not.toHaveProperty('message');
    expect((await api.get(`${TASKS}/execute-batch-job/${id}/result`)).body).not.toHaveProperty('message');
  });
});

describe('the result of a canceled batch job', () => {
  it('says that it was canceled before it ran', async () => {
    const id = await api.batchJob({ classifiers: [{ type: 'VERSION', value: '7' }] });
    await api.delete(`${TASKS}/${id}/cancel`);
    expect(await messageAt(`execute-batch-job/${id}/result`)).toBe('The task was canceled before it ran.');
  });

  it('says that it was canceled by force', async () => {
    const id = await api.batchJob(gears);
    await agent.hear('assign');
    await api.delete(`${TASKS}/${id}/cancel?force=true`);
    expect(await messageAt(`execute-batch-job/${id}/result`)).toBe(
      'The task was canceled by force while it ran.',
    );
  });
});
