import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { BlobMismatch } from '../core/ports/blob-cache.js';
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

async function* cutAfter(text: string): AsyncGenerator<Uint8Array> {
  if (text !== '') yield Buffer.from(text);
  throw new Error('cut');
}

describe('a partial blob', () => {
  const hello = fileOf('hello, hello');

  test.each([0, 1, 6, 11])('of %d bytes is resumed, also after a restart', async (bytes) => {
    const cache = await open();
    await expect(cache.put(hello, cutAfter('hello, hello'.slice(0, bytes)), 0)).rejects.toThrow('cut');
    expect(await cache.keptBytes(hello.digest)).toBe(bytes);
    const restarted = await open();
    expect(await restarted.keptBytes(hello.digest)).toBe(bytes);
    await restarted.put(hello, chunksOf('hello, hello'.slice(bytes)), bytes);
    expect(await restarted.pin(hello)).toBe(true);
    expect(await readdir(directory)).toEqual([hello.digest]);
  });

  test('is removed when the rest does not match', async () => {
    const cache = await open();
    await expect(cache.put(hello, cutAfter('hello'), 0)).rejects.toThrow('cut');
    await expect(cache.put(hello, chunksOf(', HELLO'), 5)).rejects.toThrow(BlobMismatch);
    expect(await cache.keptBytes(hello.digest)).toBe(0);
    expect(await readdir(directory)).toEqual([]);
  });

  test('counts towards the limit, and is removed first', async () => {
    const cache = await open(20);
    const [a, b] = [fileOf('aaaa'), fileOf('bbbb')];
    await cache.put(a, chunksOf('aaaa'), 0);
    await expect(cache.put(hello, cutAfter('hello, hell'), 0)).rejects.toThrow('cut');
    await cache.put(b, chunksOf('bbbb'), 0);
    expect(await cache.keptBytes(hello.digest)).toBe(11);
    await cache.put(fileOf('cccc'), chunksOf('cccc'), 0);
    expect(await cache.keptBytes(hello.digest)).toBe(0);
    expect(await cache.pin(a)).toBe(true);
  });
});

describe('a cache', () => {
  test('has stored blobs, also after a restart', async () => {
    const cache = await open();
    const file = fileOf('hello');
    expect(await cache.pin(file)).toBe(false);
    await cache.put(file, chunksOf('hel', 'lo'), 0);
    expect(await cache.pin(file)).toBe(true);
    expect(await readFile(cache.pathOf(file.digest), 'utf8')).toBe('hello');
    expect(await (await open()).pin(file)).toBe(true);
  });

  test('does not store data with another digest', async () => {
    const cache = await open();
    const other = fileOf('other');
    await cache.put(other, chunksOf('other'), 0);
    await expect(cache.put(fileOf('hello'), chunksOf('other'), 0)).rejects.toThrow(BlobMismatch);
    await expect(cache.put(fileOf('hello'), chunksOf('hello and more'), 0)).rejects.toThrow(
      'received more than',
    );
    const broken = (async function* () {
      yield Buffer.from('hel');
      throw new Error('cut');
    })();
    await expect(cache.put(fileOf('hello'), broken, 0)).rejects.toThrow('cut');
    expect(await cache.pin(fileOf('hello'))).toBe(false);
    expect((await readdir(directory)).sort()).toEqual(
      [other.digest, `${fileOf('hello').digest}.partial`].sort(),
    );
  });

  test('does not trust files of an earlier process: a damaged one is fetched again', async () => {
    const file = fileOf('hello');
    await (await open()).put(file, chunksOf('hello'), 0);
    await writeFile(join(directory, file.digest), 'hellO');
    await writeFile(join(directory, 'x.partial'), 'half');
    const cache = await open();
    expect(await cache.pin(file)).toBe(false);
    expect(await readdir(directory)).toEqual([]);
  });

  test('removes the least recently used blobs first, and none that is pinned', async () => {
    const cache = await open(10);
    const [a, b, c, d] = [fileOf('aaaa'), fileOf('bbbb'), fileOf('cccc'), fileOf('dddd')];
    await cache.put(a, chunksOf('aaaa'), 0);
    await cache.put(b, chunksOf('bbbb'), 0);
    expect(await cache.pin(a)).toBe(true);
    await cache.put(c, chunksOf('cccc'), 0);
    expect(await cache.pin(b)).toBe(false);
    await cache.put(d, chunksOf('dddd'), 0);
    expect(await cache.pin(c)).toBe(false);
    expect((await readdir(directory)).sort()).toEqual([a.digest, d.digest].sort());
    cache.unpin(a.digest);
    await cache.put(b, chunksOf('bbbb'), 0);
    expect((await readdir(directory)).length).toBe(2);
  });

  test('releases a blob that was stored again during its verification', async () => {
    const content = 'x'.repeat(4 * 1024 * 1024);
    const file = fileOf(content);
    await (await open(2 * content.length)).put(file, chunksOf(content), 0);
    const cache = await open(2 * content.length);
    const pinned = cache.pin(file);
    await cache.put(file, chunksOf(content), 0);
    expect(await pinned).toBe(true);
    cache.unpin(file.digest);
    expect(await cache.makeRoom()).toBe(true);
    expect(await readdir(directory)).toEqual([]);
  });

  test('frees disk space by removing the least recently used blobs that are not pinned', async () => {
    const cache = await open();
    const [a, b, c] = [fileOf('aaaa'), fileOf('bbbb'), fileOf('cccc')];
    for (const [file, text] of [
      [a, 'aaaa'],
      [b, 'bbbb'],
      [c, 'cccc'],
    ] as const) {
      await cache.put(file, chunksOf(text), 0);
    }
    expect(await cache.pin(a)).toBe(true);
    expect([await cache.makeRoom(), await cache.makeRoom(), await cache.makeRoom()]).toEqual([
      true,
      true,
      false,
    ]);
    expect(await readdir(directory)).toEqual([a.digest]);
  });

  test('refuses a blob too large for the disk, and removes nothing for it', async () => {
    const cache = await open();
    const kept = fileOf('aaaa');
    await cache.put(kept, chunksOf('aaaa'), 0);
    await cache.expect({ ...fileOf('b'), sizeBytes: 1000 });
    await expect(cache.expect({ ...fileOf('b'), sizeBytes: 2 ** 50 })).rejects.toMatchObject({
      code: 'ENOSPC',
      message: expect.stringMatching(/^ENOSPC: it has 1125899906842624 bytes, and there is room for \d+$/),
    });
    expect(await readdir(directory)).toEqual([kept.digest]);
  });

  test('returns to its limit, oldest first', async () => {
    const cache = await open();
    const [a, b] = [fileOf('aaaa'), fileOf('bbbb')];
    await cache.put(a, chunksOf('aaaa'), 0);
    await cache.put(b, chunksOf('bbbb'), 0);
    await utimes(cache.pathOf(b.digest), 1, 1);
    const smaller = await open(5);
    expect(await smaller.pin(b)).toBe(false);
    expect(await smaller.pin(a)).toBe(true);
  });

  test('keeps the most recently used blobs after they are unpinned', async () => {
    const cache = await open(8);
    const [a, b, c] = [fileOf('aaaa'), fileOf('bbbb'), fileOf('cccc')];
    await cache.put(a, chunksOf('aaaa'), 0);
    await cache.put(b, chunksOf('bbbb'), 0);
    expect(await cache.pin(a)).toBe(true);
    cache.unpin(a.digest);
    await cache.put(c, chunksOf('cccc'), 0);
    expect((await readdir(directory)).sort()).toEqual([a.digest, c.digest].sort());
  });

  test('knows the order of use after a restart', async () => {
    const runtime = manualRuntime(Date.now());
    const cache = await DiskCache.open(directory, 8, runtime);
    const [a, b] = [fileOf('aaaa'), fileOf('bbbb')];
    await cache.put(a, chunksOf('aaaa'), 0);
    await cache.put(b, chunksOf('bbbb'), 0);
    await runtime.advance(60_000);
    expect(await cache.pin(a)).toBe(true);
    cache.unpin(a.digest);
    const touched = runtime.clock.nowMs();
    const usedAtMs = async () => Math.round((await stat(cache.pathOf(a.digest))).mtimeMs);
    await expect.poll(usedAtMs).toBe(touched);
    await open(4);
    expect(await readdir(directory)).toEqual([a.digest]);
  });

  test('counts a blob once even if it is stored twice', async () => {
    const cache = await open(12);
    const [a, b, c] = [fileOf('aaaa'), fileOf('bbbb'), fileOf('cccc')];
    await cache.put(a, chunksOf('aaaa'), 0);
    await cache.put(b, chunksOf('bbbb'), 0);
    await cache.put(b, chunksOf('bbbb'), 0);
    await cache.put(c, chunksOf('cccc'), 0);
    expect((await readdir(directory)).sort()).toEqual([a.digest, b.digest, c.digest].sort());
  });
});
