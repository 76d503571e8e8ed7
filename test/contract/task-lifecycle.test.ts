/** One task: read, log, cancel, delete (contract 2.7 to 2.11). */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { api, hub, hubForAllTests } from '../support/hubs/hub-for-tests.js';
import { expectError, LOCAL_TIMESTAMP } from '../support/interface/api.js';

const TASKS = '/api/2.0/workbench/task';
const UNKNOWN = '019aa4f2-ffff-7c41-9f0e-5b2f6f1d2a77';
const NOWHERE = { classifiers: [{ type: 'VERSION', value: 'none' }] };
const time = expect.stringMatching(LOCAL_TIMESTAMP);

hubForAllTests();

let agent: FakeAgent;
beforeEach(async () => {
  agent = await FakeAgent.join(hub);
});
afterEach(() => agent.leave());

/** A batch job that the agent runs. */
async function runJob() {
  const id = await api.batchJob();
  return { id, ...(await agent.hear('assign')) };
}

describe('a task', () => {
  it('is shown field for field in every state', async () => {
    const id = await api.batchJob({
      name: 'run 7',
      classifiers: [
        { type: 'PRIORITY', value: 'HIGH' },
        { type: 'VERSION', value: '9.*' },
      ],
    });
    const { ref } = await agent.hear('assign');
    const born = {
      id,
      type: 'EXECUTE_BATCH_JOB',
      name: 'run 7',
      priority: 'HIGH',
      classifiers: [
        { type: 'PRIORITY', value: 'HIGH' },
        { type: 'VERSION', value: '9.*' },
      ],
      requestedDatetime: time,
    };
    expect(await api.task(id)).toEqual({ ...born, startedDatetime: time, status: 'RUNNING' });
    await agent.end(ref, 'ERROR');
    expect(await api.task(id)).toEqual({
      ...born,
      startedDatetime: time,
      endedDatetime: time,
      status: 'FAILED',
    });
  });

  it('without name and classifiers shows none', async () => {
    const id = await api.simulateWork();
    await eventually(async () => (await api.task(id))['status'] === 'RUNNING');
    const { ref } = await agent.hear('assign');
    expect(await api.task(id)).toEqual({
      id,
      type: 'SIMULATE_WORK',
      priority: 'NORMAL',
      classifiers: [],
      requestedDatetime: time,
      startedDatetime: time,
      status: 'RUNNING',
    });
    await agent.end(ref, 'OK');
  });

  it('that was requeued has no start time', async () => {
    const { id, ref } = await runJob();
    await agent.leave();
    agent = await FakeAgent.join(hub, { nodeId: agent.nodeId, instances: [] });
    const task = await eventually(async () => {
      const now = await api.task(id);
      return now['status'] === 'WAITING' && now;
    });
    expect(task).not.toHaveProperty('startedDatetime');
    expect(ref.attempt).toBe(1);
    await api.delete(`${TASKS}/${id}/cancel`);
  });

  it.each(['', '/log', '/cancel', '/delete'])(
    'that is unknown is answered with 404: task/{id}%s',
    async (rest) => {
      const method = rest === '/cancel' || rest === '/delete' ? 'DELETE' : 'GET';
      for (const id of [UNKNOWN, 'nobody', '%F0%9F%98%80', '*', "'"]) {
        const path = `${TASKS}/${id}${rest}`;
        const shown = JSON.stringify(decodeURIComponent(id));
        expectError(await api.call(method, path), 404, path, `there is no task with the id ${shown}`);
      }
    },
  );
});

describe('the log of a task', () => {
  const log = (id: string) => api.get(`${TASKS}/${id}/log`);

  it('is answered with 204 and no body as long as nothing was printed', async () => {
    const { id, ref } = await runJob();
    expect(await log(id)).toMatchObject({ status: 204, text: '' });
    await agent.end(ref, 'OK');
    expect(await log(id)).toMatchObject({ status: 204, text: '' });
  });

  it('can be read while the task runs, as plain text', async () => {
    const { id, ref } = await runJob();
    agent.say({ type: 'output', ref, offset: 0, text: 'größe\n<b>' });
    const answer = await eventually(async () => {
      const each = await log(id);
      return each.status === 200 && each;
    });
    expect(answer.text).toBe('größe\n<b>');
    expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    await agent.end(ref, 'CANCELED');
    await api.delete(`${TASKS}/${id}/cancel?force=true`);
  });

  it.each([10, 5_000_000])('of %d bytes is complete after the end', async (bytes) => {
    const { id, ref } = await runJob();
    agent.say({ type: 'output', ref, offset: 0, text: 'live' });
    const whole = Buffer.alloc(bytes, '0123456789\n');
    await agent.end(ref, 'ERROR', { log: await agent.upload(whole) });
    const answer = await log(id);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(answer.headers.get('content-length')).toBe(String(bytes));
    expect(answer.text === whole.toString()).toBe(true);
    const head = await api.call('HEAD', `${TASKS}/${id}/log`);
    expect([head.status, head.headers.get('content-length'), head.text]).toEqual([200, String(bytes), '']);
  });

  it('of a waiting task is answered with 204', async () => {
    expect(await log(await api.simulateWork(NOWHERE))).toMatchObject({ status: 204, text: '' });
  });
});

describe('cancel', () => {
  const cancel = (id: string, query = '') => api.delete(`${TASKS}/${id}/cancel${query}`);

  it('of a waiting task is answered with 204, and the task stays as CANCELED', async () => {
    const id = await api.simulateWork(NOWHERE);
    expect(await cancel(id)).toMatchObject({ status: 204, text: '' });
    expect(await api.task(id)).toMatchObject({ status: 'CANCELED', endedDatetime: time });
    expect(await api.task(id)).not.toHaveProperty('startedDatetime');
  });

  it.each(['', '?force=false', '?force=FALSE'])(
    'of a running task is answered with 409: %j',
    async (query) => {
      const { id, ref } = await runJob();
      expectError(
        await cancel(id, query),
        409,
        `${TASKS}/${id}/cancel`,
        `task ${id} is RUNNING, only a WAITING one can be canceled; add ?force=true to end it on its workbench instance`,
      );
      expect(await api.task(id)).toMatchObject({ status: 'RUNNING' });
      await agent.end(ref, 'OK');
    },
  );

  it.each(['true', 'True'])('by force ends a running task on its instance: force=%s', async (force) => {
    const { id, ref } = await runJob();
    expect(await cancel(id, `?force=${force}`)).toMatchObject({ status: 204, text: '' });
    expect(await agent.hear('cancel')).toEqual({ type: 'cancel', ref });
    expect(await api.task(id)).toMatchObject({
      status: 'CANCELED',
      startedDatetime: time,
      endedDatetime: time,
    });
    expect(await agent.end(ref, 'CANCELED')).toBe(false);
    expect(await api.task(id)).toMatchObject({ status: 'CANCELED' });
  });

  it('by force keeps the log and the files that the task made until then, once', async () => {
    const { id, ref } = await runJob();
    await cancel(id, '?force=true');
    const report = {
      log: await agent.upload(Buffer.from('step 1\n')),
      outputFiles: [{ path: 'half.csv', ...(await agent.upload(Buffer.from('1,2'))) }],
    };
    expect(await agent.end(ref, 'CANCELED', report)).toBe(true);
    expect((await api.get(`${TASKS}/${id}/log`)).text).toBe('step 1\n');
    expect((await api.get(`/api/2.0/workbench/task/execute-batch-job/${id}/result`)).body).toMatchObject({
      status: 'CANCELED',
      outputFiles: [{ filename: 'half.csv', content: Buffer.from('1,2').toString('base64') }],
    });
    expect(await agent.end(ref, 'CANCELED', report)).toBe(false);
  });

  it.each(['', '?force=true'])('of an ended task is answered with 409: %j', async (query) => {
    const { id, ref } = await runJob();
    await agent.end(ref, 'OK');
    const cancelable = query === '' ? 'WAITING' : 'WAITING or RUNNING';
    const message = `task ${id} is FINISHED, only a ${cancelable} one can be canceled`;
    expectError(await cancel(id, query), 409, `${TASKS}/${id}/cancel`, message);
    const canceled = await api.simulateWork(NOWHERE);
    await cancel(canceled);
    expect((await cancel(canceled, query)).status).toBe(409);
  });

  it.each(['yes', '1', '', 'true&force=true'])('with the force %j is answered with 400', async (force) => {
    const id = await api.simulateWork(NOWHERE);
    expectError(
      await cancel(id, `?force=${force}`),
      400,
      `${TASKS}/${id}/cancel`,
      'force: must be true or false, given once',
    );
    expect(await api.task(id)).toMatchObject({ status: 'WAITING' });
  });
});

describe('delete', () => {
  it.each(['OK', 'ERROR', 'cancel'] as const)(
    'of an ended task removes it with its results: %s',
    async (end) => {
      const { id, ref } = await runJob();
      if (end === 'cancel') {
        await api.delete(`${TASKS}/${id}/cancel?force=true`);
        await agent.end(ref, 'CANCELED');
      } else {
        const outputFiles = [{ path: 'a', ...(await agent.upload('a')) }];
        await agent.end(ref, end, { outputFiles, log: await agent.upload('log') });
      }
      expect(await api.delete(`${TASKS}/${id}/delete`)).toMatchObject({ status: 204, text: '' });
      for (const path of [`${id}`, `${id}/log`, `execute-batch-job/${id}/result`]) {
        expect((await api.get(`${TASKS}/${path}`)).status).toBe(404);
      }
      expect((await api.delete(`${TASKS}/${id}/delete`)).status).toBe(404);
    },
  );

  it('of any other task is answered with 409', async () => {
    const { id, ref } = await runJob();
    const waiting = await api.simulateWork(NOWHERE);
    for (const [each, status] of [
      [id, 'RUNNING'],
      [waiting, 'WAITING'],
    ]) {
      expectError(
        await api.delete(`${TASKS}/${each}/delete`),
        409,
        `${TASKS}/${each}/delete`,
        `task ${each} is ${status}, only one that is FINISHED, FAILED, CANCELED can be deleted`,
      );
    }
    await agent.end(ref, 'OK');
  });
});
