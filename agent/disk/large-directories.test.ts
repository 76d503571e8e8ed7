/** Directories with more entries than memory should hold. */
import type { BigIntStats, Dirent } from 'node:fs';
import { existsSync, lstatSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Directory } from './directory.js';
import { LinuxDirectory } from './linux-directory.js';
import { listFiles } from './list-files.js';
import { removeTree } from './remove-tree.js';

const FILES = 3000;
/** Bytes that are no text in UTF-8. */
const NO_TEXT = Buffer.from([0x66, 0xff]);

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'large-directories-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

it.runIf(process.platform === 'linux')('are read in pieces, and removed', async () => {
  const large = join(directory, 'large');
  mkdirSync(large);
  for (let at = 1; at < FILES; at++) writeFileSync(join(large, `${at}`), '');
  writeFileSync(Buffer.concat([Buffer.from(`${large}/`), NO_TEXT]), '');
  const top = LinuxDirectory.open(large);
  const parent = LinuxDirectory.open(directory);
  try {
    const { entries, isSmall } = await top.list();
    expect([Array.isArray(entries), isSmall]).toEqual([false, false]);
    const names: Buffer[] = [];
    for await (const entry of entries) if (entry.isFile()) names.push(entry.name);
    expect(names).toHaveLength(FILES);
    expect(names.some((name) => name.equals(NO_TEXT))).toBe(true);
    await removeTree(parent, 'large');
    expect(existsSync(large)).toBe(false);
  } finally {
    top.close();
    parent.close();
  }
});

it('are listed no further than their files are taken', async () => {
  const played = playedDirectory(Number.POSITIVE_INFINITY);
  let taken = 0;
  for await (const { name } of listFiles(played.directory, () => undefined)) {
    expect(name.toString()).toBe(`${taken}`);
    if (++taken === FILES) break;
  }
  expect(played.read()).toBe(FILES);
});

it('are removed while they are read', async () => {
  const played = playedDirectory(FILES);
  await removeTree({ ...played.directory, openDirectory: () => played.directory } as Directory, 'large');
  expect(played.read()).toBe(FILES);
  expect(played.mostHeld()).toBe(1024);
});

/** A directory with so many files, of which the test counts those that were read and are still there. */
function playedDirectory(files: number) {
  let read = 0;
  let removed = 0;
  let mostHeld = 0;
  const stats = lstatSync(join(directory, '..'), { bigint: true });
  async function* entries() {
    while (read < files) {
      const name = Buffer.from(`${read++}`);
      mostHeld = Math.max(mostHeld, read - removed);
      yield { name, isFile: () => true, isDirectory: () => false } as Dirent<Buffer>;
    }
  }
  const played: Partial<Directory> = {
    list: async () => ({ entries: entries(), isSmall: false }),
    stat: async () => Object.assign(Object.create(stats) as BigIntStats, { isFile: () => true }),
    unlink: async () => void removed++,
    removeDirectory: async () => undefined,
    close: () => undefined,
  };
  return { directory: played as Directory, read: () => read, mostHeld: () => mostHeld };
}
