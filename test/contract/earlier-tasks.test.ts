/** Tasks in 1.0 and 1.1, field for field (contract 11.4 and 11.5). `toEqual` on whole bodies finds missing and additional
 *  fields. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { api, hub, hubForAllTests } from '../support/hubs/hub-for-tests.js';
import { base64, expectError, LOCAL_TIMESTAMP } from '../support/interface/api.js';
import { formWithFile } from '../support/interface/forms.js';

const time = expect.stringMatching(LOCAL_TIMESTAMP);
const UNKNOWN = '019aa4f2-ffff-7c41-9f0e-5b2f6f1d2a77';
const SCRIPTS = { inputScripts: [{ content: base64('print(1)') }] };
const NOWHERE = { classifiers: [{ type: 'VERSION', value: 'none' }] };

hubForAllTests({ config: { tasks: { maxAttempts: 1 } } });

let agent: FakeAgent;
beforeEach(async () => {
  agent = await FakeAgent.join(hub);
});
afterEach(() => agent.leave());

describe.each([
  { generation: '1.0', workbench: {} },
  { generation: '1.1', workbench: { executingWorkbench: { version: '9.1.0', revision: '4711' } } },
])('$generation', ({ generation, workbench }) => {
  const base = `/api/${generation}/workbench/task`;

  const create = async (kind: string, request: object): Promise<string> => {
    const answer = await api.post(`${base}/${kind}/create`, request);
    expect(answer.status, answer.text).toBe(201);
    expect(answer.body).toEqual({ status: 'WAITING', id: expect.any(String) });
    return answer.body['id'] as string;
  };
  const result = async (kind: string, id: string, query = '') =>
    (await api.get(`${base}/${kind}/${id}/result${query}`)).body;
  const task = async (id: string) => (await api.get(`${base}/${id}`)).body;

  it('shows simulated work in every state', async () => {
    const id = await create('simulate-work', { name: 'run 7', duration: 5 });
    const born = { id, type: 'SIMULATE_WORK', priority: 'NORMAL', requestedDatetime: time };
    const { ref, job } = await agent.hear('assign');
    expect(job).toEqual({ type: 'SIMULATE_WORK', durationS: 5 });
    expect(await task(id)).toEqual({ ...born, startedDatetime: time, status: 'RUNNING' });
    const running = { id, status: 'RUNNING', message: 'The task runs on workbench instance sim-1.' };
    expect(await result('simulate-work', id)).toEqual({ ...running, ...workbench });

    const waiting = await create('simulate-work', { duration: 0, ...NOWHERE });
    expect(await task(waiting)).toEqual({ ...born, id: waiting, status: 'WAITING' });
    expect(await result('simulate-work', waiting)).toEqual({
      id: waiting,
      status: 'WAITING',
      message: 'The task waits for a workbench instance.',
    });

    const answer = result('simulate-work', id, '?timeout=60');
    await agent.end(ref, 'OK');
    expect(await answer).toEqual({
      id,
      status: 'FINISHED',
      message: 'The task has finished on workbench instance sim-1.',
      ...workbench,
    });
    expect(await task(id)).toEqual({ ...born, startedDatetime: time, status: 'FINISHED' });
  });

  it('shows the result of a batch job with its files', async () => {
    const id = await create('execute-batch-job', {
      ...SCRIPTS,
      name: 'gears',
      classifiers: [{ type: 'PRIORITY', value: 'HIGH' }],
      inputModel: { type: 'WBPZ', content: base64('model') },
      additionalFiles: [{ filename: 'a.txt', content: base64('a') }],
      variablesToInject: [{ key: 'a', value: '1' }],
    });
    const { ref } = await agent.hear('assign');
    expect(await result('execute-batch-job', id)).toEqual({ id, status: 'RUNNING', ...workbench });
    const outputFiles = [
      { path: 'plots/motion.csv', ...(await agent.upload('1;2')) },
      { path: 'top.txt', ...(await agent.upload('')) },
    ];
    await agent.end(ref, 'OK', { outputFiles });
    expect(await result('execute-batch-job', id)).toEqual({
      id,
      status: 'FINISHED',
      batchExecutionStatus: 'OK',
      ...workbench,
      outputFiles: [
        { directory: 'plots', filename: 'motion.csv', content: base64('1;2') },
        { filename: 'top.txt', content: '' },
      ],
    });
    expect(await task(id)).toEqual({
      id,
      type: 'EXECUTE_BATCH_JOB',
      priority: 'HIGH',
      requestedDatetime: time,
      startedDatetime: time,
      status: 'FINISHED',
    });
  });

  it.each([
    ['ERROR', { batchExecutionStatus: 'ERROR' }],
    ['FAILED', {}],
    ['INSTANCE_LOST', {}],
  ] as const)('shows a failed batch job (%s) without the message of 2.x', async (outcome, status) => {
    const id = await create('execute-batch-job', SCRIPTS);
    const { ref } = await agent.hear('assign');
    await agent.end(ref, outcome, { message: 'no license' });
    const expected = { id, status: 'FAILED', ...status, ...workbench, outputFiles: [] };
    expect(await result('execute-batch-job', id)).toEqual(expected);
  });

  it('shows a task that was canceled before it ran, without a workbench', async () => {
    const id = await create('execute-batch-job', { ...SCRIPTS, ...NOWHERE });
    expect((await api.delete(`/api/2.0/workbench/task/${id}/cancel`)).status).toBe(204);
    expect(await result('execute-batch-job', id)).toEqual({ id, status: 'CANCELED', outputFiles: [] });
  });

  it('answers an unknown id, or one of the other type, with 404', async () => {
    const work = await create('simulate-work', { duration: 1, ...NOWHERE });
    const job = await create('execute-batch-job', { ...SCRIPTS, ...NOWHERE });
    for (const path of [
      `${base}/${UNKNOWN}`,
      `${base}/simulate-work/${UNKNOWN}/result`,
      `${base}/simulate-work/${job}/result`,
      `${base}/execute-batch-job/${work}/result`,
    ]) {
      expectError(await api.get(path), 404, path, /^there is no task (of type \w+ )?with the id "/);
    }
  });

  it('accepts models of the input storage', async () => {
    const inputModelReference = { type: 'INPUT_STORAGE', parameters: [{ key: 'name', value: 'gear.wbpz' }] };
    const path = `${base}/execute-batch-job/create`;
    const missing = /^inputModelReference.parameters: name: there is no file gear.wbpz in the input storage/;
    expectError(await api.post(path, { ...SCRIPTS, inputModelReference }), 400, path, missing);
    await api.call('POST', '/api/2.0/storage/input/upload', formWithFile('gear.wbpz', 'the model'));
    await create('execute-batch-job', { ...SCRIPTS, inputModelReference });
    const { ref, job } = await agent.hear('assign');
    expect(job).toMatchObject({ model: { kind: 'BLOB', path: 'gear.wbpz', sizeBytes: 9 } });
    await agent.end(ref, 'OK');
    await api.delete('/api/2.0/storage/input/gear.wbpz/delete');
  });
});

describe('cancel in 1.0', () => {
  const cancel = (id: string, query = '') => api.delete(`/api/1.0/workbench/task/${id}/cancel${query}`);

  it('answers a waiting task with 204 and no body, and the task stays in the list', async () => {
    const id = await api.simulateWork(NOWHERE);
    const answer = await cancel(id);
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect((await api.get(`/api/1.0/workbench/task/${id}`)).body).toMatchObject({ status: 'CANCELED' });
    expectError(await cancel(id), 409, `/api/1.0/workbench/task/${id}/cancel`, /is CANCELED, only /);
  });

  it('refuses a running task, also with force, which only 2.x knows', async () => {
    const id = await api.simulateWork();
    const { ref } = await agent.hear('assign');
    const path = `/api/1.0/workbench/task/${id}/cancel`;
    expectError(await cancel(id, '?force=true'), 409, path, /is RUNNING, only /);
    expect(await agent.end(ref, 'OK')).toBe(true);
    expectError(await cancel(id), 409, path, /is FINISHED, only /);
  });

  it('answers an unknown id with 404', async () => {
    expectError(await cancel(UNKNOWN), 404, `/api/1.0/workbench/task/${UNKNOWN}/cancel`, /^there is no task/);
  });
});

describe('the API versions of one hub', () => {
  it('show the tasks of each other', async () => {
    const generations = ['1.0', '1.1', '2.0'];
    for (const origin of generations) {
      const path = `/api/${origin}/workbench/task/simulate-work/create`;
      const id = (await api.post(path, { duration: 1, name: origin, ...NOWHERE })).body['id'] as string;
      for (const shown of generations) {
        const base = `/api/${shown}/workbench/task`;
        expect((await api.get(`${base}/${id}`)).body).toMatchObject({ id, status: 'WAITING' });
        expect((await api.get(`${base}/simulate-work/${id}/result`)).body).toMatchObject({ id });
        const [newest] = (await api.get(`${base}/list?size=1`)).body['content'] as { id: string }[];
        expect(newest?.id).toBe(id);
      }
      expect(await api.task(id)).toMatchObject({ name: origin, ...NOWHERE });
    }
  });

  it.each(['1.0', '1.1'])('accept fields that %s never shows, and 2.x shows them', async (generation) => {
    const path = `/api/${generation}/workbench/task/simulate-work/create`;
    const answer = await api.post(path, { duration: 1, name: 'n', timeLimit: 60, ...NOWHERE });
    expect(await api.task(answer.body['id'] as string)).toMatchObject({ name: 'n', ...NOWHERE });
  });
});
