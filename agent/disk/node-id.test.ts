import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { nodeId } from './node-id.js';

const ID = '00000000-0000-4000-8000-000000000001';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'node-id-test-'));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(directory, { recursive: true });
});

it('is made once', async () => {
  expect(await nodeId(directory, () => ID)).toBe(ID);
  expect(await nodeId(directory, () => 'another')).toBe(ID);
  expect(readdirSync(directory)).toEqual(['node-id']);
});

it('is refused when its file is damaged', async () => {
  writeFileSync(join(directory, 'node-id'), '');
  await expect(nodeId(directory, () => ID)).rejects.toThrow('does not hold an identifier');
});

it.skipIf(process.platform === 'win32')('is on the disk before its file has its name', async () => {
  const some = await open(directory);
  const handles = Object.getPrototypeOf(some) as FileHandle;
  await some.close();
  const { sync } = handles;
  const isNamed: boolean[] = [];
  vi.spyOn(handles, 'sync').mockImplementation(function (this: FileHandle) {
    isNamed.push(existsSync(join(directory, 'node-id')));
    return sync.call(this);
  });
  await nodeId(directory, () => ID);
  // The file, then the folder.
  expect(isNamed).toEqual([false, true]);
});
