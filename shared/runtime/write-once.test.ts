import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { writeOnce } from './write-once.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'write-once-'));
});
afterEach(() => rm(folder, { recursive: true }));

it('creates a file for its owner once, and leaves nothing beside it', async () => {
  const path = join(folder, 'key');
  const texts = ['a', 'b', 'c'];
  await Promise.all(texts.map((text) => writeOnce(path, text)));
  const first = await readFile(path, 'utf8');
  expect(texts).toContain(first);
  await writeOnce(path, 'd');
  expect(await readFile(path, 'utf8')).toBe(first);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(['key']);
});

it('rejects when the folder is not there', async () => {
  await expect(writeOnce(join(folder, 'none', 'key'), 'a')).rejects.toMatchObject({ code: 'ENOENT' });
});
