import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { download } from './download.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'download-'));
});
afterEach(() => rm(folder, { recursive: true }));

describe('a download', () => {
  it.each([true, false])('can have the longest name of a file, with overwrite %s', async (overwrite) => {
    const name = `${'n'.repeat(251)}.csv`;
    const target = path.join(folder, name);
    await download({ name, open: async () => new Response('content') }, target, { overwrite });
    expect(await readdir(folder)).toEqual([name]);
    expect(await readFile(target, 'utf8')).toBe('content');
  });
});
