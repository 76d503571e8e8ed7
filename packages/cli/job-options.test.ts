import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
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

describe.skipIf(process.platform === 'win32')('a folder with links', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'links-'));
    await mkdir(path.join(folder, 'job'));
    await writeFile(path.join(folder, 'mesh.stl'), 'mesh');
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('is sent with the files that they name', async () => {
    await symlink('../mesh.stl', path.join(folder, 'job', 'link.stl'));
    const { files } = await jobOf({ ...OPTIONS, file: [path.join(folder, 'job')] });
    expect(Object.keys(files ?? {})).toEqual(['job/link.stl']);
  });

  it.each([
    ['..', 'is a link to a folder'],
    ['nowhere', 'is a link that cannot be followed: there is no such file'],
  ])('is refused with one to %s', async (target, message) => {
    await symlink(target, path.join(folder, 'job', 'link'));
    await expect(jobOf({ ...OPTIONS, file: [path.join(folder, 'job')] })).rejects.toThrow(message);
  });
});
