import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ContentMismatch } from '../core/ports/content-cache.js';
import { DiskCache } from './disk-cache.js';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cache-test-'));
});

afterEach(() => rm(directory, { recursive: true, force: true }));

function open(limitBytes = 1000) {
  return DiskCache.open(directory, limitBytes, systemRuntime);
}

function fileOf(content: string) {
  return { digest: createHash('sha256').update(content).digest('hex'), sizeBytes: content.length };
}

async function* chunksOf(...chunks: string[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield Buffer.from(chunk);
}

describe('a cache', () => {
  test('has what was put, also after a restart', async () => {
    const cache = await open();
    const file = fileOf('hello');
    expect(await cache.pin(file)).toBe(false);
    await cache.put(file, chunksOf('hel', 'lo'));
    expect(await cache.pin(file)).toBe(true);
    expect(await readFile(cache.pathOf(file.digest), 'utf8')).toBe('hello');
    expect(await (await open()).pin(file)).toBe(true);
  });

  test('takes nothing that is another content, and keeps nothing of it', async () => {
    const cache = await open();
    const other = fileOf('other');
    await cache.put(other, chunksOf('other'));
    await expect(cache.put(fileOf('hello'), chunksOf('other'))).rejects.toThrow(ContentMismatch);
    await expect(cache.put(fileOf('hello'), chunksOf('hello and more'))).rejects.toThrow('longer');
    const broken = (async function* () {
      yield Buffer.from('hel');
      throw new Error('cut');
    })();
    await expect(cache.put(fileOf('hello'), broken)).rejects.toThrow('cut');
    expect(await readdir(directory)).toEqual([other.digest]);
  });

  test('does not trust what an earlier process left: a file that was damaged is fetched again', async () => {
    const file = fileOf('hello');
    await (await open()).put(file, chunksOf('hello'));
    await writeFile(join(directory, file.digest), 'hellO');
    await writeFile(join(directory, 'x.partial'), 'half');
    const cache = await open();
    expect(await cache.pin(file)).toBe(false);
    expect(await readdir(directory)).toEqual([]);
  });

  test('removes the least recently used first, and nothing that is in use', async () => {
    const cache = await open(10);
    const [a, b, c, d] = [fileOf('aaaa'), fileOf('bbbb'), fileOf('cccc'), fileOf('dddd')];
    await cache.put(a, chunksOf('aaaa'));
    await cache.put(b, chunksOf('bbbb'));
    expect(await cache.pin(a)).toBe(true);
    await cache.put(c, chunksOf('cccc'));
    expect(await cache.pin(b)).toBe(false);
    await cache.put(d, chunksOf('dddd'));
    expect(await cache.pin(c)).toBe(false);
    expect((await readdir(directory)).sort()).toEqual([a.digest, d.digest].sort());
    cache.unpin(a.digest);
    await cache.put(b, chunksOf('bbbb'));
    expect((await readdir(directory)).length).toBe(2);
  });

  test('comes back within its limit, oldest first', async () => {
    const cache = await open();
    const [a, b] = [fileOf('aaaa'), fileOf('bbbb')];
    await cache.put(a, chunksOf('aaaa'));
    await cache.put(b, chunksOf('bbbb'));
    await utimes(cache.pathOf(b.digest), 1, 1);
    const smaller = await open(5);
    expect(await smaller.pin(b)).toBe(false);
    expect(await smaller.pin(a)).toBe(true);
  });
});
