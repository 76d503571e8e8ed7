import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkFolder, isRight } from './folder-check.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'folder-check-'));
  write('task.manifest.json', '{}');
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(name: string, text: string) {
  writeFileSync(join(folder, name), text);
}

const output = (path: string, text: string) => ({
  path,
  size: text.length,
  digest: createHash('sha256').update(text).digest('hex'),
});
const check = (outputs: ReturnType<typeof output>[], storedFiles: { name: string; size: number }[] = []) =>
  checkFolder(folder, { task: { id: 'task' }, outputs, storedFiles }, join(folder, 'task.manifest.json'));
const NOTHING = { missing: [], changed: [], additional: [], sizeOnly: [], right: [] };

describe('the check of a folder', () => {
  it('finds outputs in folders, and leaves the manifest out', async () => {
    mkdirSync(join(folder, 'a/b'), { recursive: true });
    write('a/b/c.txt', 'text');
    const found = await check([output('a/b/c.txt', 'text')]);
    expect(found).toEqual({ folder, ...NOTHING, right: ['a/b/c.txt'] });
    expect(isRight(found)).toBe(true);
  });

  it('names what is missing, changed in size, content or kind, and additional', async () => {
    mkdirSync(join(folder, 'kind.txt'));
    symlinkSync(join(folder, 'nowhere'), join(folder, 'link.txt'));
    for (const [name, text] of [
      ['size.txt', 'longer'],
      ['content.txt', 'TEXT'],
      ['z.txt', 'more'],
      ['other.manifest.json', '{}'],
    ] as const)
      write(name, text);
    const names = ['size.txt', 'content.txt', 'kind.txt', 'link.txt', '../outside.txt'];
    const found = await check(names.map((name) => output(name, 'text')));
    expect(found).toEqual({
      folder,
      ...NOTHING,
      missing: ['kind.txt', '../outside.txt'],
      changed: ['size.txt', 'content.txt', 'link.txt'],
      additional: ['other.manifest.json', 'z.txt'],
    });
    expect(isRight(found)).toBe(false);
  });

  it('takes a file of the output storage by its size only, with the id of the task in its name or without', async () => {
    write('movie.bin', 'any');
    write('task-sound.bin', 'any');
    write('text.bin', 'longer');
    const stored = ['movie', 'sound', 'text'].map((name) => ({ name: `task-${name}.bin`, size: 3 }));
    const found = await check([], stored);
    expect(found).toEqual({
      folder,
      ...NOTHING,
      sizeOnly: ['movie.bin', 'task-sound.bin'],
      additional: ['text.bin'],
    });
  });
});
