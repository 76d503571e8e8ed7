/** Hubs that join other hubs (contract 2.10, decision 0083). */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { api, hub, hubForEachTest, ownHub } from '../support/hubs/hub-for-tests.js';
import { PREPARE_SHUTDOWN } from '../support/hubs/hubs-under-test.js';
import type { RunningHub } from '../support/hubs/running-hub.js';
import { instanceAt, listed, resultOf, type Site, startSite } from '../support/hubs/sites.js';

const NODE = '/api/2.0/workbench/node';
const TASK = '/api/2.0/workbench/task';

/** Headquarters. */
hubForEachTest({ config: { server: { publicUrl: 'https://hq.example.com' } } });

let site: Site;
let press: FakeAgent;
beforeEach(async () => {
  site = await startSite(hub);
  press = await FakeAgent.join(site.hub, {
    id: 'host-1',
    instances: [{ id: 'press', version: '9.1.0', labels: ['forming'] }],
  });
});

describe('instances of a joined hub', () => {
  it('are those of an agent, with the address of the hub in 1.0', async () => {
    const lent = { version: '9.1.0', labels: ['forming'], status: 'UP', working: false };
    await instanceAt(api, 'berlin:press', { ...lent, agentId: 'berlin' });
    const [server] = await listed(api, '/api/1.0/workbench/node/server/list');
    expect(server).toMatchObject({ id: 'berlin', baseUrl: 'https://berlin.example.com', status: 'UP' });
    expect(server?.['instances']).toEqual([
      expect.objectContaining({ id: 'berlin:press', serverId: 'berlin' }),
    ]);
  });

  it('work while their own hub uses them, and get no task of another', async () => {
    await instanceAt(api, 'berlin:press');
    await site.api.simulateWork();
    const own = await press.hear('assign');
    await instanceAt(api, 'berlin:press', { working: true });
    const id = await api.simulateWork();
    await press.end(own.ref, 'OK');
    const loan = await press.hear('assign');
    expect((await api.get(`${TASK}/${id}`)).body).toMatchObject({ status: 'RUNNING' });
    await press.end(loan.ref, 'OK');
    await eventually(async () =>
      expect((await api.get(`${TASK}/${id}`)).body).toMatchObject({ status: 'FINISHED' }),
    );
  });
});

describe('a task on a lent instance', () => {
  it('runs at the site and ends at home', async () => {
    await instanceAt(api, 'berlin:press');
    const id = await api.batchJob({ name: 'far' });
    const assigned = await press.hear('assign');
    expect((await api.get(`${TASK}/${id}`)).body).toMatchObject({ status: 'RUNNING' });
    const output = { path: 'result.txt', ...(await press.upload('42')) };
    const log = await press.upload('done');
    press.report(assigned.ref, 'OK', { outputFiles: [output], log });
    const result = await api.get(`${TASK}/execute-batch-job/${id}/result?timeout=30`);
    expect(result.body).toMatchObject({
      status: 'FINISHED',
      batchExecutionStatus: 'OK',
      executingWorkbench: { id: 'berlin:press', version: '9.1.0' },
      outputFiles: [{ filename: 'result.txt', content: Buffer.from('42').toString('base64') }],
    });
    expect((await api.get(`${TASK}/${id}/log`)).text).toContain('done');
  });

  it('is a task without creator at the site, with the hub and the user that it came from', async () => {
    await instanceAt(api, 'berlin:press');
    const id = await api.simulateWork({ duration: 5 });
    const { ref } = await press.hear('assign');
    expect((await site.api.get(`/api/x/tasks/${ref.taskId}`)).body).toMatchObject({
      status: 'RUNNING',
      loan: { upstream: 'hq', hub: 'https://hq.example.com', taskId: id },
    });
    expect((await site.api.get(`/api/x/tasks/${ref.taskId}`)).body).not.toHaveProperty('creator');
    press.report(ref, 'OK');
    expect(await resultOf(api, id)).toMatchObject({ status: 'FINISHED' });
  });

  it('fails at home as it failed at the site', async () => {
    await instanceAt(api, 'berlin:press');
    const id = await api.batchJob();
    const { ref } = await press.hear('assign');
    press.report(ref, 'ERROR', { message: 'script 1 failed' });
    expect(await resultOf(api, id, 'execute-batch-job')).toMatchObject({
      status: 'FAILED',
      batchExecutionStatus: 'ERROR',
      message: 'script 1 failed',
    });
  });

  it('shows at home what its scripts print', async () => {
    await instanceAt(api, 'berlin:press');
    const id = await api.batchJob();
    const { ref } = await press.hear('assign');
    press.say({ type: 'output', ref, offset: 0, text: 'step 1\n' });
    await eventually(async () => expect((await api.get(`${TASK}/${id}/log`)).text).toContain('step 1'));
    press.report(ref, 'OK');
    await resultOf(api, id, 'execute-batch-job');
  });

  it('leaves its files for the output storage at home', async () => {
    await instanceAt(api, 'berlin:press');
    const id = await api.batchJob();
    const { ref } = await press.hear('assign');
    const stored = { path: 'field.bin', ...(await press.upload('x'.repeat(100_000))) };
    const output = { ...stored, path: '.output-storage/a/field.bin' };
    press.report(ref, 'OK', { storedFiles: [stored], outputFiles: [output] });
    const result = await resultOf(api, id, 'execute-batch-job');
    const name = (result['storedFiles'] as { name: string }[])[0]?.name ?? '';
    expect((await api.get(`/api/2.0/storage/output/${name}/download`)).text).toHaveLength(100_000);
    expect(result['outputFiles']).toMatchObject([{ filename: 'field.bin' }]);
  });

  it('is canceled at the site when it is canceled by force at home, which gets the files', async () => {
    await instanceAt(api, 'berlin:press');
    const id = await api.batchJob();
    const { ref } = await press.hear('assign');
    expect((await api.delete(`${TASK}/${id}/cancel?force=true`)).status).toBe(204);
    expect((await press.hear('cancel')).ref).toEqual(ref);
    const output = { path: 'half.txt', ...(await press.upload('half')) };
    press.report(ref, 'CANCELED', { outputFiles: [output] });
    await eventually(async () =>
      expect(await resultOf(api, id, 'execute-batch-job')).toMatchObject({
        status: 'CANCELED',
        outputFiles: [{ filename: 'half.txt' }],
      }),
    );
    await instanceAt(api, 'berlin:press', { working: false });
  });

  it('returns to the queue at home when an administrator of the site cancels it', async () => {
    await instanceAt(api, 'berlin:press');
    const id = await api.simulateWork();
    const { ref } = await press.hear('assign');
    expect((await site.api.delete(`${TASK}/${ref.taskId}/cancel?force=true`)).status).toBe(204);
    await press.hear('cancel');
    press.report(ref, 'CANCELED');
    const again = await press.hear('assign', (each) => each.ref.taskId !== ref.taskId);
    expect((await api.get(`/api/x/tasks/${id}`)).body).toMatchObject({
      attempts: [{ attempt: 1, outcome: 'RETURN' }, { attempt: 2 }],
    });
    press.report(again.ref, 'OK');
    expect(await resultOf(api, id)).toMatchObject({ status: 'FINISHED' });
  });

  it('counts the crash of its instance at home', async () => {
    await instanceAt(api, 'berlin:press');
    const id = await api.simulateWork();
    for (const attempt of [1, 2, 3]) {
      const { ref } = await press.hear('assign');
      expect(ref.attempt).toBe(1);
      press.report(ref, 'INSTANCE_LOST', { message: `crash ${attempt}` });
    }
    expect(await resultOf(api, id)).toMatchObject({
      status: 'FAILED',
      message: expect.stringContaining('died 3 times while it ran this task (tasks.maxAttempts): crash 3'),
    });
  });

  it('cannot be deleted at the site before its result is at home', async () => {
    await instanceAt(api, 'berlin:press');
    const id = await api.simulateWork();
    const { ref } = await press.hear('assign');
    await hub.stop();
    press.report(ref, 'OK');
    await eventually(async () => (await site.api.task(ref.taskId))['status'] === 'FINISHED');
    const { status, body } = await site.api.delete(`${TASK}/${ref.taskId}/delete`);
    expect([status, body['message']]).toEqual([
      409,
      `task ${ref.taskId} ran for the hub hq, which does not have its result yet: it can be deleted afterwards`,
    ]);
    expect(id).not.toBe(ref.taskId);
  });
});

describe('commands to a lent instance', () => {
  it('reach it, and its logs are read', async () => {
    await instanceAt(api, 'berlin:press');
    const stopping = api.call('PATCH', `${NODE}/instance/berlin:press/stop`);
    const { requestId, request } = await press.hear('request');
    expect(request).toEqual({ kind: 'instanceCommand', instanceId: 'press', command: 'stop' });
    press.say({ type: 'reply', requestId, error: null, text: null });
    expect((await stopping).status).toBe(202);

    const reading = api.get(`${NODE}/instance/berlin:press/log/console`);
    const asked = await press.hear('request');
    press.say({ type: 'reply', requestId: asked.requestId, error: null, text: 'ready\n' });
    expect((await reading).text).toBe('ready\n');
  });

  it('that the agent refuses are 502, with its words', async () => {
    await instanceAt(api, 'berlin:press');
    const starting = api.call('PATCH', `${NODE}/instance/berlin:press/start`);
    const { requestId } = await press.hear('request');
    press.say({ type: 'reply', requestId, error: 'it is up already', text: null });
    const { status, body } = await starting;
    expect(status).toBe(502);
    expect(body['message']).toContain('it is up already');
  });
});

describe('what is lent', () => {
  it('takes no task while the site prepares its shutdown', async () => {
    await instanceAt(api, 'berlin:press');
    const prepare = async (initiated: boolean) =>
      expect((await site.api.post(PREPARE_SHUTDOWN, { initiated })).status).toBe(200);
    await prepare(true);
    await instanceAt(api, 'berlin:press', { lent: 'KEPT' });
    const id = await api.simulateWork();
    await prepare(false);
    const loan = await press.hear('assign');
    await press.end(loan.ref, 'OK');
    await eventually(async () =>
      expect((await api.get(`${TASK}/${id}`)).body).toMatchObject({ status: 'FINISHED' }),
    );
  });

  it('is what the rule names, and at most as many as it says', async () => {
    await FakeAgent.join(site.hub, {
      id: 'host-2',
      instances: ['a', 'b', 'c'].map((name) => ({ id: `mill-${name}`, labels: ['Milling'] })),
    });
    const other = await ownHub();
    await eventually(async () => (await listed(site.api, `${NODE}/instance/list`)).length === 4);
    const limited = await startSite(other.hub, 'limited', { lend: { labels: ['milling'], max: 2 } });
    await FakeAgent.join(limited.hub, {
      id: 'host-3',
      instances: [
        ...['a', 'b', 'c'].map((name) => ({ id: `mill-${name}`, labels: ['Milling'] })),
        { id: 'lathe', labels: ['turning'] },
      ],
    });
    await eventually(async () =>
      expect((await listed(other.api, `${NODE}/instance/list`)).map(({ id }) => id)).toEqual(
        ['a', 'b', 'c'].map((name) => `limited:mill-${name}`),
      ),
    );
    const tasks = [
      await other.api.simulateWork(),
      await other.api.simulateWork(),
      await other.api.simulateWork(),
    ];
    const running = async () => {
      const { body } = await other.api.get(`${TASK}/list?status=RUNNING`);
      return body['totalElements'];
    };
    await eventually(async () => (await running()) === 2);
    expect(tasks).toHaveLength(3);
  });
});

describe('a hub that would lend instances to itself', () => {
  const idOf = async ({ config: { dataDir } }: RunningHub) =>
    (await readFile(join(dataDir, 'cluster-id'), 'utf8')).trim();
  const OTHER = '0190b5a0-0000-7000-8000-000000000002';

  it.each([
    ['directly', (own: string) => ({ id: own, below: [] }), 'paris'],
    [
      'over others',
      (own: string) => ({ id: OTHER, below: [{ id: own, path: ['lyon', 'hq'] }] }),
      'paris > lyon > hq',
    ],
  ])('%s is refused, with the way in words', async (_, said, way) => {
    const joining = { ...said(await idOf(hub)), baseUrl: null };
    const agent = await FakeAgent.connect(hub, { id: 'paris', nodeId: OTHER, hub: joining });
    expect(await agent.hear('refused')).toMatchObject({
      code: 'HUB_CIRCLE',
      message: `this hub would lend instances to itself, by way of ${way}: remove one of these upstreams`,
    });
  });
});
