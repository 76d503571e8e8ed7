import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { replacePrivateFile } from './private-files.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'private-files-'));
});
afterEach(() => rm(folder, { recursive: true }));

it('leaves nothing beside a file that it cannot replace', async () => {
  const path = join(folder, 'state.json');
  await mkdir(path);
  await writeFile(join(path, 'in'), 'x');
  await expect(replacePrivateFile(path, '{}')).rejects.toThrow();
  expect(await readdir(folder)).toEqual(['state.json']);
});
