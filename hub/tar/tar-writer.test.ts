import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createArchive } from './tar-writer.js';

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tar-writer-'));
  file = join(folder, 'hub.tar');
});
afterEach(() => rm(folder, { recursive: true }));

/** Writes an archive where the file system has no hard links. */
async function writeArchive(): Promise<void> {
  const makeLink = () => Promise.reject(Object.assign(new Error('EPERM: link'), { code: 'EPERM' }));
  const archive = await createArchive(file, join(folder, '.temporary'), { overwrite: false, makeLink });
  try {
    await archive.addText('note', 'all data of the hub');
    await archive.finish();
  } finally {
    await archive.abandon();
  }
}

describe('an archive on a file system without hard links', () => {
  it('gets its name', async () => {
    await writeArchive();
    expect(await readdir(folder)).toEqual(['hub.tar']);
    expect(await readFile(file, 'latin1')).toContain('all data of the hub');
  });

  it('replaces no file', async () => {
    await writeFile(file, 'of yesterday');
    await expect(writeArchive()).rejects.toThrow(`${file} is there already: choose another name`);
    expect(await readdir(folder)).toEqual(['hub.tar']);
    expect(await readFile(file, 'utf8')).toBe('of yesterday');
  });
});
