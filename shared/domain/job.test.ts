import { expect, it } from 'vitest';
import { type BatchJob, modelTypeOf, modelTypeOfName } from './job.js';

it.each([
  ['model.inp', 'INP'],
  ['gear.tar.gz', 'GZ'],
  ['C:\\models\\gear.WBPZ', 'WBPZ'],
  ['/models.d/gear', null],
  ['C:\\models.d\\gear', null],
  ['gear.', null],
  ['gear.größe', null],
  ['gear.ofmorethan16letters', null],
])('the type of a model named %j is %j', (name, type) => {
  expect(modelTypeOfName(name)).toBe(type);
});

it('the type of the model of a job is that of its name, wherever it lies', () => {
  const job = (model: BatchJob['model']): BatchJob => ({
    type: 'EXECUTE_BATCH_JOB',
    model,
    scripts: [],
    additionalFiles: [],
    variables: [],
  });
  const blob = { kind: 'BLOB', path: 'model.mjcf', digest: '0'.repeat(64), sizeBytes: 1 } as const;
  const local = { kind: 'LOCAL_FILESYSTEM', pathToFile: '/gear.xml', copyToWorkingDirectory: false } as const;
  expect(modelTypeOf(job(blob))).toBe('MJCF');
  expect(modelTypeOf(job(local))).toBe('XML');
  expect(modelTypeOf(job(null))).toBeNull();
  expect(modelTypeOf({ type: 'SIMULATE_WORK', durationS: 1 })).toBeNull();
});
