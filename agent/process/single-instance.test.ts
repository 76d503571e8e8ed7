import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { linux } from './linux.js';
import { lockDataDir } from './single-instance.js';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'lock-test-'));
});

afterEach(() => rm(directory, { recursive: true, force: true }));

describe('the lock of a data directory', () => {
  test('is held by one, and free again afterwards', async () => {
    const release = lockDataDir(directory, linux);
    expect(() => lockDataDir(directory, linux)).toThrow(/is in use by another agent \(process \d+\)/);
    release();
    expect(await readdir(directory)).toEqual([]);
    lockDataDir(directory, linux)();
  });

  test.each([
    ['a process that is no more', '4194305@x/1'],
    ['a process whose number another one has', `${process.ppid}@x/1`],
    ['nobody that can be read', 'rubbish'],
  ])('of %s is taken over', async (_, owner) => {
    await writeFile(join(directory, 'agent.lock'), owner);
    const release = lockDataDir(directory, linux);
    expect(await readFile(join(directory, 'agent.lock'), 'utf8')).toBe(linux.identify(process.pid));
    expect(await readdir(directory)).toEqual(['agent.lock']);
    release();
  });
});
