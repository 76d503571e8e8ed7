/** GET .../{id}/result of both kinds (contract 4.1 to 4.6). */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { api, hub, hubForAllTests } from '../support/hubs/hub-for-tests.js';
import { base64, expectError, LOCAL_TIMESTAMP } from '../support/interface/api.js';

const TASKS = '/api/2.0/workbench/task';
const time = expect.stringMatching(LOCAL_TIMESTAMP);
const workbench = { id: 'sim-1', version: '9.1.0', revision: '4711' };

hubForAllTests({ config: { tasks: { maxAttempts: 1 } } });

let agent: FakeAgent;
beforeEach(async () => {
  agent = await FakeAgent.join(hub);
});
afterEach(() => agent.leave());

const simulated = (id: string, query = '') => api.get(`${TASKS}/simulate-work/${id}/result${query}`);
const executed = (id: string, query = '') => api.get(`${TASKS}/execute-batch-job/${id}/result${query}`);

describe('the result of simulated work', () => {
  it('describes the task in every state, field for field', async () => {
    const first = await api.simulateWork();
    const { ref } = await agent.hear('assign');
    const waiting = await api.simulateWork();
    expect((await simulated(waiting)).body).toEqual({
      status: 'WAITING',
      id: waiting,
      message: 'The task waits for a workbench instance. 1 fitting instance is busy.',
      requestedDatetime: time,
    });
    expect((await simulated(first)).body).toEqual({
      status: 'RUNNING',
      id: first,
      message: 'The task runs on workbench instance sim-1.',
      executingWorkbench: workbench,
      requestedDatetime: time,
      startedDatetime: time,
    });
    await api.delete(`${TASKS}/${waiting}/cancel`);
    expect((await simulated(waiting)).body).toEqual({
      status: 'CANCELED',
      id: waiting,
      message: 'The task was canceled before it ran.',
      requestedDatetime: time,
      endedDatetime: time,
    });
    await agent.end(ref, 'OK');
    expect((await simulated(first)).body).toEqual({
      status: 'FINISHED',
      id: first,
      message: 'The task has finished on workbench instance sim-1.',
      executingWorkbench: workbench,
      requestedDatetime: time,
      startedDatetime: time,
      endedDatetime: time,
    });
  });

  it('says why a task failed', async () => {
    const id = await api.simulateWork();
    const { ref } = await agent.hear('assign');
    await agent.end(ref, 'FAILED', { message: 'the time limit of 1 s was over' });
    expect((await simulated(id)).body).toMatchObject({
      status: 'FAILED',
      message: 'The task has failed: the time limit of 1 s was over.',
    });
  });
});

describe('the result of a batch job', () => {
  it('carries no files before the end', async () => {
    const id = await api.batchJob();
    const { ref } = await agent.hear('assign');
    expect((await executed(id)).body).toEqual({
      status: 'RUNNING',
      id,
      executingWorkbench: workbench,
      requestedDatetime: time,
      startedDatetime: time,
    });
    await agent.end(ref, 'OK');
  });

  it('carries the files that the scripts produced, small and large, sorted by path', async () => {
    const id = await api.batchJob();
    const { ref } = await agent.hear('assign');
    const large = Buffer.alloc(1_000_003, 'large');
    const contents: [string, Buffer][] = [
      ['plots/2026/größe.svg', Buffer.from('<svg/>')],
      ['motion.csv', large],
      ['a.txt', Buffer.from([0, 255, 10])],
      ['empty', Buffer.alloc(0)],
    ];
    const outputFiles: { path: string; digest: string; sizeBytes: number }[] = [];
    for (const [path, content] of contents) outputFiles.push({ path, ...(await agent.upload(content)) });
    expect(await agent.end(ref, 'OK', { outputFiles })).toBe(true);
    expect((await executed(id)).body).toEqual({
      status: 'FINISHED',
      id,
      batchExecutionStatus: 'OK',
      executingWorkbench: workbench,
      requestedDatetime: time,
      startedDatetime: time,
      endedDatetime: time,
      outputFiles: [
        { filename: 'a.txt', content: base64(Buffer.from([0, 255, 10])) },
        { filename: 'empty', content: '' },
        { filename: 'motion.csv', content: base64(large) },
        { directory: 'plots/2026', filename: 'größe.svg', content: base64('<svg/>') },
      ],
    });
  });

  it('of a failed script has the failure and its output files', async () => {
    const id = await api.batchJob();
    const { ref } = await agent.hear('assign');
    const outputFiles = [{ path: 'partial.csv', ...(await agent.upload('1;2')) }];
    await agent.end(ref, 'ERROR', { message: 'script 1 exited with 7', outputFiles });
    expect((await executed(id)).body).toMatchObject({
      status: 'FAILED',
      batchExecutionStatus: 'ERROR',
      message: 'script 1 exited with 7',
      outputFiles: [{ filename: 'partial.csv', content: base64('1;2') }],
    });
  });

  it.each([
    ['FAILED', 'the model could not be read', 'the model could not be read'],
    [
      'INSTANCE_LOST',
      'signal 11',
      'the workbench instance died once while it ran this task (tasks.maxAttempts): signal 11',
    ],
  ] as const)(
    'of scripts that could not be run has no batchExecutionStatus: %s',
    async (outcome, said, message) => {
      const id = await api.batchJob();
      const { ref } = await agent.hear('assign');
      await agent.end(ref, outcome, { message: said });
      expect((await executed(id)).body).toEqual({
        status: 'FAILED',
        id,
        message,
        executingWorkbench: workbench,
        requestedDatetime: time,
        startedDatetime: time,
        endedDatetime: time,
        outputFiles: [],
      });
    },
  );

  it('of a canceled task has neither files nor workbench', async () => {
    await agent.leave();
    const id = await api.batchJob();
    await api.delete(`${TASKS}/${id}/cancel`);
    expect((await executed(id)).body).toEqual({
      status: 'CANCELED',
      id,
      message: 'The task was canceled before it ran.',
      requestedDatetime: time,
      endedDatetime: time,
      outputFiles: [],
    });
  });
});

describe('the timeout of a result', () => {
  it('ends early when the task ends', async () => {
    const id = await api.simulateWork();
    const { ref } = await agent.hear('assign');
    const answers = Promise.all([simulated(id, '?timeout=60'), simulated(id, '?timeout=86400')]);
    await agent.end(ref, 'OK');
    for (const { body } of await answers) expect(body).toMatchObject({ status: 'FINISHED' });
  });

  it('ends early with the files of a batch job', async () => {
    const id = await api.batchJob();
    const { ref } = await agent.hear('assign');
    const answer = executed(id, '?timeout=60');
    const outputFiles = [{ path: 'a', ...(await agent.upload('a')) }];
    await agent.end(ref, 'OK', { outputFiles });
    expect((await answer).body).toMatchObject({ status: 'FINISHED', outputFiles: [{ filename: 'a' }] });
  });

  it('ends with the current state when it is over', async () => {
    const id = await api.simulateWork({ classifiers: [{ type: 'VERSION', value: 'none' }] });
    const began = performance.now();
    expect((await simulated(id, '?timeout=1')).body).toMatchObject({ status: 'WAITING' });
    expect(performance.now() - began).toBeGreaterThan(990);
  });

  it.each(['', '?timeout=0'])('does not delay the response when it is absent or 0: %j', async (query) => {
    const id = await api.simulateWork({ classifiers: [{ type: 'VERSION', value: 'none' }] });
    expect((await simulated(id, query)).body).toMatchObject({ status: 'WAITING' });
  });

  it.each(['-1', '86401', '1.5', 'soon', '', '1e3', '0x10', ' 5', '5&timeout=5'])(
    'must not be %j',
    async (timeout) => {
      const id = await api.simulateWork({ classifiers: [{ type: 'VERSION', value: 'none' }] });
      expectError(
        await simulated(id, `?timeout=${timeout}`),
        400,
        `${TASKS}/simulate-work/${id}/result`,
        'timeout: must be a whole number from 0 to 86400, given once',
      );
    },
  );
});

describe('a result is not found', () => {
  it('under the path of the other type', async () => {
    const work = await api.simulateWork({ classifiers: [{ type: 'VERSION', value: 'none' }] });
    const job = await api.batchJob({ classifiers: [{ type: 'VERSION', value: 'none' }] });
    expectError(
      await executed(work),
      404,
      `${TASKS}/execute-batch-job/${work}/result`,
      `there is no task of type EXECUTE_BATCH_JOB with the id "${work}"`,
    );
    expectError(
      await simulated(job, '?timeout=5'),
      404,
      `${TASKS}/simulate-work/${job}/result`,
      `there is no task of type SIMULATE_WORK with the id "${job}"`,
    );
  });

  it.each(['019aa4f2-ffff-7c41-9f0e-5b2f6f1d2a77', 'nobody', '7', '..%2f..', '%20', '%00', 'x'.repeat(5000)])(
    'for %j',
    async (id) => {
      const answer = await simulated(id);
      expectError(answer, 404, `${TASKS}/simulate-work/${id}/result`, /^there is no task with the id "/);
    },
  );

  it('when the task is deleted while a client waits', async () => {
    const id = await api.simulateWork({ classifiers: [{ type: 'VERSION', value: 'none' }] });
    const answer = simulated(id, '?timeout=60');
    await eventually(async () => (await api.task(id))['status'] === 'WAITING');
    await api.delete(`${TASKS}/${id}/cancel`);
    expect((await answer).body).toMatchObject({ status: 'CANCELED' });
    await api.delete(`${TASKS}/${id}/delete`);
    expect((await simulated(id)).status).toBe(404);
  });
});
