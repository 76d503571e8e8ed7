import { describe, expect, it } from 'vitest';
import { type Job, type JobFile, jobFields, requestOf } from './job.js';

const inRequest = async () => undefined;

async function nameOfScript(script: JobFile): Promise<string | undefined> {
  const { inputScripts } = await requestOf({ scripts: [script] }, inRequest);
  return inputScripts[0]?.filename;
}

describe('the request of a job', () => {
  it('has what describes the job and its place, as its task shows them again', async () => {
    const job: Omit<Job, 'scripts'> = {
      ...{ name: 'run 7', note: 'with the new bearing', version: '2.*', labels: ['gpu', 'fast'] },
      priority: 'HIGH',
      timeLimitS: 60,
    };
    const request = await requestOf({ ...job, scripts: ['1'] }, inRequest);
    expect(request).toEqual({
      ...{ name: 'run 7', note: 'with the new bearing', timeLimit: 60 },
      classifiers: [
        { type: 'VERSION', value: '2.*' },
        { type: 'LABLES', value: 'gpu,fast' },
        { type: 'PRIORITY', value: 'HIGH' },
      ],
      inputScripts: [{ content: 'MQ==' }],
    });
    expect(jobFields({ ...request, classifiers: request.classifiers ?? [] })).toEqual(job);
  });

  it('has the names of its files', async () => {
    const model = new File(['m'], 'ball.xml');
    const { inputModel, inputScripts } = await requestOf(
      { model, scripts: [new File(['1'], 'throw.js')] },
      inRequest,
    );
    expect(inputModel).toEqual({ type: 'MJCF', content: 'bQ==', filename: 'ball.xml' });
    expect(inputScripts).toEqual([{ content: 'MQ==', filename: 'throw.js' }]);
  });

  it('has the name of a model that goes to the input storage', async () => {
    const model = new File(['m'], 'ball.xml');
    const { inputModelReference } = await requestOf({ model, scripts: ['1'] }, async (_, ending) => ({
      storageName: `content-7${ending}`,
    }));
    expect(inputModelReference).toEqual({
      type: 'INPUT_STORAGE',
      parameters: [{ key: 'name', value: 'content-7.mjcf' }],
      filename: 'ball.xml',
    });
  });

  it('has no name of what has none', async () => {
    expect(await nameOfScript('1')).toBeUndefined();
    expect(await nameOfScript(new Blob(['1']))).toBeUndefined();
    expect(await nameOfScript(new Uint8Array([49]))).toBeUndefined();
    const { inputModel } = await requestOf({ model: 'm', modelType: 'MJCF', scripts: ['1'] }, inRequest);
    expect(inputModel).toEqual({ type: 'MJCF', content: 'bQ==' });
  });

  it.each(['throw.js', 'a/b c.js', 'wörfe.js', '.hidden', 'x'.repeat(255)])(
    'has the name %j',
    async (name) => {
      expect(await nameOfScript(new File(['1'], name))).toBe(name);
    },
  );

  it.each([
    '',
    'a//b',
    '/a',
    'a/',
    '../a',
    '.',
    'a\\b',
    'c:a',
    'a\nb',
    '.workbench-x',
    'ö'.repeat(128),
    'a/'.repeat(600),
  ])('leaves out the name %j, which the hub would refuse', async (name) => {
    expect(await nameOfScript(new File(['1'], name))).toBeUndefined();
  });
});
