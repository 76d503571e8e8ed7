/** POST /api/2.0/workbench/task/execute-batch-job/create (contract 2.6 and 3.1). */
import { describe, expect, it } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { api, hubForAllTests } from '../support/hubs/hub-for-tests.js';
import { startHub } from '../support/hubs/running-hub.js';
import { Api, base64, LOCAL_TIMESTAMP } from '../support/interface/api.js';
import { files, model, PATH, reference, SCRIPT, variables } from './batch-job-requests.js';

hubForAllTests();

describe('a good batch job request', () => {
  it('is answered with 201, status, id and time, and reaches the agent as it was sent', async () => {
    const own = await startHub();
    const agent = await FakeAgent.join(own);
    const large = Buffer.alloc(300_000, 'large');
    const answer = await new Api(own).post(PATH, {
      name: 'all of it',
      timeLimit: 60,
      classifiers: [{ type: 'VERSION', value: '9.*' }],
      inputModel: { type: 'wbpz', content: base64('model') },
      inputScripts: [SCRIPT, { content: '' }],
      additionalFiles: [
        { filename: 'data/größe.bin', content: base64(large) },
        { filename: 'a.txt', content: base64('a') },
      ],
      variablesToInject: [
        { key: 'b', value: 'two\nlines' },
        { key: 'a', value: '' },
      ],
    });
    expect(answer.status).toBe(201);
    expect(answer.body).toEqual({
      status: 'WAITING',
      id: expect.any(String),
      requestedDatetime: expect.stringMatching(LOCAL_TIMESTAMP),
    });
    const { job, timeLimitMs } = await agent.hear('assign');
    expect(timeLimitMs).toBe(60_000);
    if (job.type !== 'EXECUTE_BATCH_JOB' || job.model?.kind !== 'BLOB') throw new Error('another job');
    const contentOf = async ({ digest, sizeBytes }: { digest: string; sizeBytes: number }) => {
      const response = await agent.file(digest);
      const content = Buffer.from(await response.arrayBuffer());
      expect(content.length).toBe(sizeBytes);
      return content;
    };
    expect(job.model.path).toBe('model.wbpz');
    expect((await contentOf(job.model)).toString()).toBe('model');
    const scripts = await Promise.all(job.scripts.map(contentOf));
    expect(scripts.map(String)).toEqual(['print(1)', '']);
    expect(job.additionalFiles.map(({ path }) => path)).toEqual(['data/größe.bin', 'a.txt']);
    const [first, second] = await Promise.all(job.additionalFiles.map(contentOf));
    expect([first?.equals(large), second?.toString()]).toEqual([true, 'a']);
    expect(job.variables).toEqual([
      { key: 'b', value: 'two\nlines' },
      { key: 'a', value: '' },
    ]);
    await agent.leave();
    await own.stop();
  });

  it.each<[string, object]>([
    ['only a script', { inputScripts: [SCRIPT] }],
    ['many scripts', { inputScripts: Array.from({ length: 1000 }, () => SCRIPT) }],
    [
      'null for what may be left out',
      { inputScripts: [SCRIPT], inputModel: null, inputModelReference: null },
    ],
    ['unknown fields', { inputScripts: [{ ...SCRIPT, language: 'js' }], color: 'red' }],
    ['a model of a type of its own', model('3DM')],
    ['a model without content', model('WBPZ', '')],
    ['an absolute path', reference(['pathToFile', '/models/a.wbpz'])],
    ['a Windows path', reference(['pathToFile', 'C:\\models\\a.wbpz'])],
    ['a Windows path with slashes', reference(['pathToFile', 'c:/models/a.wbpz'])],
    ['a UNC path', reference(['pathToFile', '\\\\server\\share\\a.wbpz'])],
    ['a copied model', reference(['pathToFile', '/a.wbpz'], ['copyFileToWorkingDirectory', 'TRUE'])],
    ['a file beside the model', { ...model('WBPZ'), ...files('model.mjcf', 'x/model.wbpz') }],
    ['nested files', files('a/b/c', 'a/b/d', 'a/e')],
    ['variables of any identifier', variables('a', '$', '_', 'größe', 'x'.repeat(128))],
  ])('may hold %s', async (_, request) => {
    const answer = await api.post(PATH, request);
    expect(answer.status, answer.text).toBe(201);
  });

  it('gives the agent the location of a referenced model', async () => {
    const own = await startHub();
    const agent = await FakeAgent.join(own, { instances: [{ id: 'a' }, { id: 'b' }] });
    const ownApi = new Api(own);
    await ownApi.batchJob(reference(['pathToFile', '\\\\server\\share\\a.wbpz']));
    await ownApi.batchJob(
      reference(['copyFileToWorkingDirectory', 'true'], ['pathToFile', '/models/a.wbpz']),
    );
    const models = [(await agent.hear('assign')).job, (await agent.hear('assign')).job].map((job) =>
      job.type === 'EXECUTE_BATCH_JOB' ? job.model : undefined,
    );
    expect(models).toEqual([
      { kind: 'LOCAL_FILESYSTEM', pathToFile: '\\\\server\\share\\a.wbpz', copyToWorkingDirectory: false },
      { kind: 'LOCAL_FILESYSTEM', pathToFile: '/models/a.wbpz', copyToWorkingDirectory: true },
    ]);
    await agent.leave();
    await own.stop();
  });
});
