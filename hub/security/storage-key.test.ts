import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { storageKey } from './storage-key.js';

let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'storage-key-'));
});
afterEach(() => rm(dataDir, { recursive: true }));
const path = () => join(dataDir, 'storage-key');

test('a key is created once, for the user of the hub only', async () => {
  const [key, same] = await Promise.all([storageKey(null, dataDir), storageKey(null, dataDir)]);
  expect(key).toHaveLength(32);
  expect(same).toEqual(key);
  expect(await storageKey(null, dataDir)).toEqual(key);
  expect(await readFile(path(), 'utf8')).toBe(`${key.toString('base64')}\n`);
  if (process.platform !== 'win32') expect((await stat(path())).mode & 0o777).toBe(0o600);
  expect(await readdir(dataDir)).toEqual(['storage-key']);
});

test('a configured key is used, and none is created', async () => {
  const configured = Buffer.alloc(32, 'configured');
  expect(await storageKey(configured.toString('base64'), dataDir)).toEqual(configured);
  expect(await readdir(dataDir)).toEqual([]);
});

test.each([
  ['empty', ''],
  ['too short', Buffer.alloc(31).toString('base64')],
  ['too long', Buffer.alloc(33).toString('base64')],
  ['no Base64', 'x'.repeat(44)],
])('a file that is %s is refused, not replaced', async (_, text) => {
  await writeFile(path(), text, { mode: 0o600 });
  await expect(storageKey(null, dataDir)).rejects.toThrow(/holds no key of 32 bytes in Base64: restore it/);
  expect(await readFile(path(), 'utf8')).toBe(text);
});

test.skipIf(process.platform === 'win32')('a file that others may read is refused', async () => {
  await storageKey(null, dataDir);
  await chmod(path(), 0o640);
  await expect(storageKey(null, dataDir)).rejects.toThrow(/may be read by other users \(mode 640\)/);
});
