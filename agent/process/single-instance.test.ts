import { writeFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { lockDataDir } from './single-instance.js';
import { openPlatform } from './this-platform.js';

const { platform } = await openPlatform(tmpdir());

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'lock-test-'));
});

afterEach(() => rm(directory, { recursive: true, force: true }));

describe('the lock of a data directory', () => {
  test('is held by one, and free again afterwards', async () => {
    const release = lockDataDir(directory, platform);
    expect(() => lockDataDir(directory, platform)).toThrow(/is in use by another agent \(process \d+\)/);
    release();
    expect(await readdir(directory)).toEqual([]);
    lockDataDir(directory, platform)();
  });

  test.each([
    ['a process that has ended', '4194305@x/1'],
    ['a process whose id another one has', `${process.ppid}@x/1`],
    ['an unreadable owner', 'rubbish'],
  ])('of %s is taken over', async (_, owner) => {
    await writeFile(join(directory, 'agent.lock'), owner);
    const release = lockDataDir(directory, platform);
    expect(await readFile(join(directory, 'agent.lock'), 'utf8')).toBe(platform.identify(process.pid));
    expect(await readdir(directory)).toEqual(['agent.lock']);
    release();
  });

  test('is not released by its former owner once another one has it', async () => {
    const release = lockDataDir(directory, platform);
    await writeFile(join(directory, 'agent.lock'), 'another');
    release();
    expect(await readFile(join(directory, 'agent.lock'), 'utf8')).toBe('another');
  });

  test('stays with another agent that takes over a stale one at the same moment', async () => {
    const lock = join(directory, 'agent.lock');
    const another = platform.identify(process.ppid) ?? '';
    await writeFile(lock, '4194305@x/1');
    // Between the look at the stale lock and its removal.
    const identify = (pid: number) => {
      if (pid === 4194305) writeFileSync(lock, another);
      return platform.identify(pid);
    };
    expect(() => lockDataDir(directory, { ...platform, identify })).toThrow(
      `is in use by another agent (process ${process.ppid})`,
    );
    expect(await readdir(directory)).toEqual(['agent.lock']);
    expect(await readFile(lock, 'utf8')).toBe(another);
  });
});
