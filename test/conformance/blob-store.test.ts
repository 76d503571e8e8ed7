/** Blobs on a real disk, with a real database for inline ones: storing, receiving and reading. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { BlobTooLarge, DigestMismatch } from '@workbench-hub/hub/core/ports/blobs';
import { MAX_INLINE_BYTES } from '@workbench-hub/hub/files/blob-store';
import { describe, expect, it } from 'vitest';
import {
  blobOf,
  blobStoreForEachTest,
  broken,
  files,
  onDisk,
  read,
  refOf,
  reopen,
  restart,
  root,
} from './blob-store-for-each-test.js';

blobStoreForEachTest();

const SIZES = [0, 1, MAX_INLINE_BYTES, MAX_INLINE_BYTES + 1, 3 * 1024 * 1024 + 1];

describe('a blob', () => {
  it.each(SIZES)('of %d bytes can be put and read', async (bytes) => {
    const blob = blobOf(bytes);
    const ref = refOf(blob);
    expect(await files.put(blob)).toEqual(ref);
    expect(await files.find(ref.digest)).toMatchObject({ sizeBytes: bytes });
    expect((await read(ref.digest))?.equals(blob)).toBe(true);
    const large = bytes > MAX_INLINE_BYTES;
    expect(await onDisk()).toEqual(large ? [join(ref.digest.slice(0, 2), ref.digest)] : []);
  });

  it.each(SIZES)('of %d bytes can be received as a stream', async (bytes) => {
    const blob = blobOf(bytes);
    const ref = refOf(blob);
    await files.receive(ref, Readable.from([blob.subarray(0, 10), blob.subarray(10)]));
    expect((await read(ref.digest))?.equals(blob)).toBe(true);
  });

  it.each(SIZES)('of %d bytes can be stored as a stream of unknown digest', async (bytes) => {
    const blob = blobOf(bytes);
    const pieces = Readable.from([blob.subarray(0, 10), blob.subarray(10)]);
    expect(await files.store(pieces, bytes)).toEqual(refOf(blob));
    expect((await read(refOf(blob).digest))?.equals(blob)).toBe(true);
  });

  it.each(SIZES.slice(1))('of %d bytes can be read in part', async (bytes) => {
    const blob = Buffer.from(Array.from({ length: bytes }, (_, at) => at % 251));
    const { digest } = await files.put(blob);
    const file = await files.find(digest);
    for (const [start, end] of [
      [0, bytes],
      [0, 1],
      [bytes - 1, bytes],
      [Math.floor(bytes / 2), Math.floor(bytes / 2)],
      [Math.floor(bytes / 3), bytes],
    ] as const) {
      const read = Buffer.concat((await file?.open({ start, end }).toArray()) as Buffer[]);
      expect(read.equals(blob.subarray(start, end)), `${start} to ${end}`).toBe(true);
    }
  });

  it.each(SIZES.slice(1))(
    'of %d bytes is refused when fewer are allowed, and leaves nothing',
    async (bytes) => {
      const blob = blobOf(bytes);
      await expect(files.store(Readable.from([blob]), bytes - 1)).rejects.toBeInstanceOf(BlobTooLarge);
      expect(await files.find(refOf(blob).digest)).toBeUndefined();
      expect(await onDisk()).toEqual([]);
    },
  );

  it('of unknown digest leaves nothing when its stream breaks', async () => {
    await expect(files.store(broken(blobOf(100_000)), 1_000_000)).rejects.toThrow('broke');
    expect(await onDisk()).toEqual([]);
  });

  it('is stored once, however often it comes', async () => {
    const blob = blobOf(100_000);
    await Promise.all([files.put(blob), files.put(blob), files.receive(refOf(blob), Readable.from([blob]))]);
    expect(await onDisk()).toHaveLength(1);
    expect((await read(refOf(blob).digest))?.equals(blob)).toBe(true);
  });

  it('that does not exist is undefined', async () => {
    expect(await files.find('a'.repeat(64))).toBeUndefined();
    expect(await read('a'.repeat(64))).toBeUndefined();
  });

  it('still exists after a restart', async () => {
    const blobs = [blobOf(10), blobOf(100_000)];
    for (const blob of blobs) await files.put(blob);
    await restart();
    for (const blob of blobs) {
      expect((await read(refOf(blob).digest))?.equals(blob)).toBe(true);
    }
  });
});

describe('a blob that differs from the announced one', () => {
  it.each([
    ['small, with another digest', blobOf(10), { digest: 'b'.repeat(64), sizeBytes: 10 }],
    ['small, shorter', blobOf(9), { ...refOf(blobOf(9)), sizeBytes: 10 }],
    ['small, longer', blobOf(11), { ...refOf(blobOf(11)), sizeBytes: 10 }],
    ['large, with another digest', blobOf(100_000), { digest: 'b'.repeat(64), sizeBytes: 100_000 }],
    ['large, shorter', blobOf(99_999), { ...refOf(blobOf(99_999)), sizeBytes: 100_000 }],
    ['large, longer', blobOf(100_001), { ...refOf(blobOf(100_001)), sizeBytes: 100_000 }],
    ['large, though announced small', blobOf(100_000), { ...refOf(blobOf(100_000)), sizeBytes: 10 }],
  ])('is refused and leaves nothing: %s', async (_, blob, announced) => {
    const pieces = Readable.from([blob.subarray(0, 5), blob.subarray(5)]);
    await expect(files.receive(announced, pieces)).rejects.toBeInstanceOf(DigestMismatch);
    expect(await files.find(announced.digest)).toBeUndefined();
    expect(await onDisk()).toEqual([]);
  });

  it('leaves nothing of the partial blob that it continued', async () => {
    const blob = blobOf(100_000);
    const ref = refOf(blob);
    await expect(files.receive(ref, broken(blob.subarray(0, 50_000)))).rejects.toThrow('broke');
    const other = blobOf(50_000, 'other');
    await expect(files.receive(ref, Readable.from([other]), 50_000)).rejects.toThrow(DigestMismatch);
    expect(await files.receivedBytes(ref.digest)).toBe(0);
    expect(await onDisk()).toEqual([]);
  });
});

it('a start removes files that a crash left half-written, and nothing else', async () => {
  const blob = blobOf(100_000);
  await files.put(blob);
  await writeFile(join(root(), 'incoming', 'half-written'), 'half');
  await reopen();
  expect(await onDisk()).toEqual([join(refOf(blob).digest.slice(0, 2), refOf(blob).digest)]);
  expect(await readFile(join(root(), (await onDisk())[0] as string))).toEqual(blob);
});
