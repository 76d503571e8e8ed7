import { appendFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Journal } from './journal.js';

let directory: string;
let path: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'journal-test-'));
  path = join(directory, 'journal.jsonl');
});

afterEach(() => rm(directory, { recursive: true, force: true }));

describe('a journal', () => {
  test('has the appended entries when the promise resolves, in order', async () => {
    const journal = new Journal(path, systemRuntime, () => [], 1000);
    await journal.open();
    await Promise.all(['a', 'b', 'c'].map((line) => journal.append(line)));
    expect(await readFile(path, 'utf8')).toBe('a\nb\nc\n');
    await journal.append('d');
    expect(await Journal.read(path)).toEqual(['a', 'b', 'c', 'd']);
    await journal.close();
  });

  test('tolerates a truncated last line, and a missing file', async () => {
    expect(await Journal.read(path)).toEqual([]);
    await writeFile(path, 'a\nb\n{"pu');
    expect(await Journal.read(path)).toEqual(['a', 'b']);
    await appendFile(path, 't"}\n');
    expect(await Journal.read(path)).toEqual(['a', 'b', '{"put"}']);
  });

  test('is restored when it was removed with its folder', async () => {
    const journal = new Journal(
      join(directory, 'own', 'journal.jsonl'),
      systemRuntime,
      () => ['counts'],
      1000,
    );
    await journal.open();
    await rm(join(directory, 'own'), { recursive: true });
    await journal.append('more');
    expect(await Journal.read(join(directory, 'own', 'journal.jsonl'))).toEqual(['counts', 'more']);
    await journal.close();
  });

  test('writes a non-urgent line with the next one, after a short time, or when it is closed', async () => {
    const runtime = manualRuntime();
    const journal = new Journal(path, runtime, () => ['snapshot'], 1000);
    await journal.open();
    const inTime = journal.appendLazily('a');
    await runtime.advance(50);
    expect(await Journal.read(path)).toEqual(['snapshot']);
    await journal.append('b');
    await inTime;
    expect(await Journal.read(path)).toEqual(['snapshot', 'a', 'b']);
    const later = journal.appendLazily('c');
    await runtime.advance(100);
    await later;
    expect(await Journal.read(path)).toEqual(['snapshot', 'a', 'b', 'c']);
    const last = journal.appendLazily('d');
    await journal.close();
    await last;
    expect(runtime.pendingTimers).toBe(0);
  });

  test('writes failed lines as soon as that is possible again', async () => {
    const runtime = manualRuntime();
    const counts: string[] = [];
    const own = join(directory, 'own');
    const journal = new Journal(join(own, 'journal.jsonl'), runtime, () => counts, 1000);
    await journal.open();
    await rm(own, { recursive: true });
    await writeFile(own, 'no folder');
    counts.push('a');
    await expect(journal.append('a')).rejects.toThrow();
    await runtime.advance(5000);
    await expect.poll(() => runtime.pendingTimers).toBe(1); // the next try
    await rm(own);
    await mkdir(own);
    await runtime.advance(5000);
    await expect.poll(() => Journal.read(join(own, 'journal.jsonl'))).toEqual(['a']);
    await journal.append('b');
    expect(await Journal.read(join(own, 'journal.jsonl'))).toEqual(['a', 'b']);
    await journal.close();
    expect(runtime.pendingTimers).toBe(0);
  });

  test('is rewritten from the entries that still count when it has grown', async () => {
    const counts = ['still counts'];
    const journal = new Journal(path, systemRuntime, () => counts, 100);
    await journal.open();
    for (let i = 0; i < 50; i++) await journal.append(`line ${i}`);
    const lines = await Journal.read(path);
    expect(lines[0]).toBe('still counts');
    expect(lines.length).toBeLessThan(20);
    await journal.close();
    expect(await Journal.read(path)).toEqual(counts);
  });
});
