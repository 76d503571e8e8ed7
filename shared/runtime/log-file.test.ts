import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LogFile, type LogRotation } from './log-file.js';

const DAY_MS = 86_400_000;
const NOON_MS = Date.UTC(2026, 10, 22, 12);

let folder: string;
let path: string;
let nowMs: number;
let failures: unknown[];
const files: LogFile[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'workbench-hub-log-'));
  path = join(folder, 'logs', 'hub.log');
  nowMs = NOON_MS;
  failures = [];
});
afterEach(async () => {
  for (const file of files.splice(0)) await file.close();
  rmSync(folder, { recursive: true });
});

async function openWith(rotation: LogRotation | null): Promise<LogFile> {
  const file = await LogFile.open(
    { path, rotation },
    {
      clock: { nowMs: () => nowMs, monotonicMs: () => nowMs },
      onRotationFailed: (error) => void failures.push((error as NodeJS.ErrnoException).code),
    },
  );
  files.push(file);
  return file;
}

/** Appends lines of ten bytes each. */
const append = (file: LogFile, ...words: readonly string[]) =>
  file.append(Buffer.from(words.map((word) => `${word.padEnd(9, '.')}\n`).join('')));

/** The first letters of the lines, by file. */
const written = () =>
  Object.fromEntries(
    readdirSync(join(folder, 'logs'))
      .sort()
      .map((name) => [
        name,
        readFileSync(join(folder, 'logs', name), 'utf8')
          .replaceAll(/\.*\n/g, ' ')
          .trim(),
      ]),
  );

describe('a log file', () => {
  it('is private, in a folder that is created, and appended to', async () => {
    const first = await openWith(null);
    await append(first, 'one');
    const second = await openWith(null);
    await append(second, 'two');
    expect(written()).toEqual({ 'hub.log': 'one two' });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'logs')).mode & 0o777).toBe(0o700);
  });

  it('is written to after another program has renamed it, until it is reopened', async () => {
    const file = await openWith(null);
    await append(file, 'one');
    renameSync(path, `${path}.1`);
    await append(file, 'two');
    await file.reopen({ path, rotation: null });
    await append(file, 'three');
    expect(written()).toEqual({ 'hub.log.1': 'one two', 'hub.log': 'three' });
  });

  it('stays in use when another one cannot be opened', async () => {
    const file = await openWith(null);
    writeFileSync(join(folder, 'file'), '');
    await expect(file.reopen({ path: join(folder, 'file', 'hub.log'), rotation: null })).rejects.toThrow(
      'EEXIST',
    );
    expect(file.path).toBe(path);
    await append(file, 'one');
    expect(written()).toEqual({ 'hub.log': 'one' });
  });

  it('keeps the lines in order while it is reopened', async () => {
    const file = await openWith(null);
    const other = join(folder, 'logs', 'other.log');
    await Promise.all([
      append(file, 'one'),
      file.reopen({ path: other, rotation: null }),
      append(file, 'two'),
    ]);
    expect(written()).toEqual({ 'hub.log': 'one', 'other.log': 'two' });
  });
});

describe('a log file that the program rotates', () => {
  const bySize = { maxFileBytes: 20, everyMs: null, keepFiles: 2 };
  const byDay = { maxFileBytes: 1000, everyMs: DAY_MS, keepFiles: 2 };

  it('begins anew when it is full, with whole lines, and keeps the latest full files', async () => {
    const file = await openWith(bySize);
    await append(file, 'a', 'b', 'c');
    expect(written()).toEqual({ 'hub-000001.log': 'a b', 'hub.log': 'c' });
    await append(file, 'd', 'e', 'f', 'g', 'h');
    expect(written()).toEqual({ 'hub-000002.log': 'c d', 'hub-000003.log': 'e f', 'hub.log': 'g h' });
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('has a line that is longer than a file, in a file of its own', async () => {
    const file = await openWith(bySize);
    await append(file, 'a');
    await append(file, 'x'.repeat(50));
    await append(file, 'b');
    expect(written()).toEqual({ 'hub-000001.log': 'a', 'hub-000002.log': 'x'.repeat(50), 'hub.log': 'b' });
  });

  it('counts files from before the start, and removes those beyond the limit', async () => {
    await mkdir(join(folder, 'logs'));
    for (const number of ['000001', '000007', '000012']) {
      writeFileSync(join(folder, 'logs', `hub-${number}.log`), number);
    }
    for (const other of ['hub-7.log', 'hub-000003.log.gz', 'other-000001.log'])
      writeFileSync(join(folder, 'logs', other), '');
    writeFileSync(path, 'before.\n');
    const file = await openWith(bySize);
    expect(Object.keys(written())).not.toContain('hub-000001.log');
    await append(file, 'a', 'b');
    expect(written()).toEqual({
      'hub-7.log': '',
      'hub-000003.log.gz': '',
      'other-000001.log': '',
      'hub-000012.log': '000012',
      'hub-000013.log': 'before a',
      'hub.log': 'b',
    });
  });

  it('has numbers of up to 15 digits, in their order', async () => {
    await mkdir(join(folder, 'logs'));
    for (const number of ['999998', '999999']) writeFileSync(join(folder, 'logs', `hub-${number}.log`), '');
    const file = await openWith(bySize);
    await append(file, 'a', 'b', 'c', 'd', 'e');
    expect(written()).toEqual({ 'hub-1000000.log': 'a b', 'hub-1000001.log': 'c d', 'hub.log': 'e' });
    writeFileSync(join(folder, 'logs', `hub-${'9'.repeat(14)}8.log`), '');
    await append(file, 'f', 'g');
    expect(Object.keys(written())).toContain(`hub-${'9'.repeat(15)}.log`);
  });

  it('begins anew with the first line of a period, also after a restart', async () => {
    const first = await openWith(byDay);
    await append(first, 'today');
    utimesSync(path, NOON_MS / 1000, NOON_MS / 1000);
    nowMs = NOON_MS + DAY_MS / 2 - 1;
    await append(first, 'still');
    utimesSync(path, nowMs / 1000, nowMs / 1000);
    const second = await openWith(byDay);
    nowMs += 1;
    await append(second, 'tomorrow');
    expect(written()).toEqual({ 'hub-000001.log': 'today still', 'hub.log': 'tomorrow' });
  });

  it('creates no files without lines', async () => {
    const file = await openWith(byDay);
    nowMs += 10 * DAY_MS;
    await append(file, 'a');
    expect(written()).toEqual({ 'hub.log': 'a' });
  });

  it('is created again after it was removed or renamed', async () => {
    const file = await openWith(bySize);
    await append(file, 'a');
    rmSync(path);
    await append(file, 'b');
    expect(written()).toEqual({ 'hub.log': 'b' });
    await rename(path, `${path}.1`);
    await append(file, 'c', 'd');
    expect(written()).toEqual({ 'hub.log.1': 'b c', 'hub.log': 'd' });
    expect(failures).toEqual([]);
  });

  it('grows as long as it cannot be rotated, which is tried again after a minute', async () => {
    const file = await openWith(bySize);
    await append(file, 'a', 'b');
    // Fails for every user, also for root.
    const logs = join(folder, 'logs');
    renameSync(logs, `${logs}-moved`);
    writeFileSync(logs, '');
    await append(file, 'c');
    await append(file, 'd');
    expect(failures).toEqual(['ENOTDIR']);
    rmSync(logs);
    renameSync(`${logs}-moved`, logs);
    expect(written()).toEqual({ 'hub.log': 'a b c d' });
    nowMs += 60_000;
    await append(file, 'e');
    expect(written()).toEqual({ 'hub-000001.log': 'a b c d', 'hub.log': 'e' });
    expect(failures).toHaveLength(1);
  });

  it.skipIf(!existsSync('/dev/full'))('is a device, which is not rotated', async () => {
    path = '/dev/full';
    const file = await openWith(bySize);
    await expect(append(file, 'a', 'b', 'c')).rejects.toThrow('ENOSPC');
    expect(failures).toEqual([]);
  });
});
