/** Partial blobs that are being completed. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, rm, stat } from 'node:fs/promises';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import { writeStream } from '@workbench-hub/shared/runtime/write-stream';
import { BlobMismatch } from '../core/ports/blob-cache.js';

/** Mode of blobs: scripts are copied with it, so that the copy needs no chmod. */
export const BLOB_MODE = 0o700;

/** Writes `stream` after the first `fromByte` bytes of the file. Resolves when the file has the expected digest; rejects with
 *  {@link BlobMismatch} when it has another, and with the error of the stream or the disk. Received bytes are kept only when
 *  the stream broke. */
export async function writePartial(
  path: string,
  expected: FileRef,
  stream: AsyncIterable<Uint8Array>,
  fromByte: number,
  makeRoom: () => Promise<boolean>,
): Promise<void> {
  const file = await open(path, 'a+', BLOB_MODE);
  let isWorthKeeping = false;
  try {
    await file.truncate(fromByte);
    const hash = createHash('sha256');
    if (fromByte > 0) {
      const kept = createReadStream(path, { highWaterMark: 1024 * 1024, end: fromByte - 1 });
      for await (const chunk of kept as AsyncIterable<Buffer>) hash.update(chunk);
    }
    let sizeBytes = fromByte;
    const onChunk = (chunk: Uint8Array) => {
      sizeBytes += chunk.length;
      if (sizeBytes > expected.sizeBytes) {
        throw new BlobMismatch(`received more than the ${expected.sizeBytes} bytes of ${expected.digest}`);
      }
      hash.update(chunk);
    };
    isWorthKeeping = true;
    await writeStream(file, stream, { onChunk, makeRoom });
    const digest = hash.digest('hex');
    if (digest !== expected.digest) {
      throw new BlobMismatch(`received data with digest ${digest}, expected ${expected.digest}`);
    }
  } catch (error) {
    const isOfTheDisk = (error as NodeJS.ErrnoException).syscall !== undefined;
    if (!isWorthKeeping || isOfTheDisk || error instanceof BlobMismatch) await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

/** Size of the partial blob; 0 for none. */
export async function partialSize(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}
