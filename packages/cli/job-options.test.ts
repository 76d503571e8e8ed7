import { expect, it } from 'vitest';
import { type JobOptions, jobOf } from './job-options.js';

const OPTIONS: JobOptions = { script: [], file: [], var: {}, label: [] };

it('has a model of the simulation host copied on request only', async () => {
  const model = 'host:/models/gear.wbpz';
  expect((await jobOf({ ...OPTIONS, model })).model).toEqual({
    hostPath: '/models/gear.wbpz',
    copied: false,
  });
  const copied = await jobOf({ ...OPTIONS, model, copyModel: true });
  expect(copied.model).toEqual({ hostPath: '/models/gear.wbpz', copied: true });
});

it.each([[{}], [{ model: 'stored:gear.wbpz' }]])('refuses to copy any other model: %j', async (given) => {
  await expect(jobOf({ ...OPTIONS, ...given, copyModel: true })).rejects.toThrow(
    '--copy-model is for a model of',
  );
});
