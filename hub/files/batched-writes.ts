import type { FileHandle } from 'node:fs/promises';

/** So much may wait for the disk while the stream goes on. */
const WAITING_BYTES = 1024 * 1024;

/** Synced at a time, so that the last sync of a large file does not keep its sender waiting for minutes. */
const SYNC_EVERY_BYTES = 128 * 1024 * 1024;

/** Writes a stream at the end of an open file. What comes while a write is under way is gathered for the next: pieces cost
 *  more to hand over than to write. `onChunk` sees each piece before it is written and may throw. When the stream breaks,
 *  what came before is written. */
export async function writeStream(
  file: FileHandle,
  content: AsyncIterable<Buffer>,
  onChunk: (chunk: Buffer) => void,
): Promise<void> {
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let unsyncedBytes = 0;
  let writing: Promise<void> | undefined;
  let failure: { readonly error: unknown } | undefined;

  /** Never rejects. */
  const write = async (): Promise<void> => {
    try {
      while (waitingBytes > 0) {
        const [pieces, sizeBytes] = [waiting, waitingBytes];
        [waiting, waitingBytes] = [[], 0];
        await writeAll(file, pieces, sizeBytes);
        unsyncedBytes += sizeBytes;
        if (unsyncedBytes < SYNC_EVERY_BYTES) continue;
        unsyncedBytes = 0;
        await file.datasync();
      }
    } catch (error) {
      failure = { error };
    } finally {
      // In the turn in which nothing waits: what comes next begins a write of its own.
      writing = undefined;
    }
  };
  const written = async (): Promise<void> => {
    await writing;
    if (failure) throw failure.error;
  };

  try {
    for await (const chunk of content) {
      onChunk(chunk);
      waiting.push(chunk);
      waitingBytes += chunk.length;
      writing ??= write();
      if (waitingBytes >= WAITING_BYTES || failure) await written();
    }
  } finally {
    await written();
  }
}

async function writeAll(file: FileHandle, pieces: Buffer[], sizeBytes: number): Promise<void> {
  let left = pieces;
  for (let written = 0; written < sizeBytes; ) {
    const { bytesWritten } = await file.writev(left);
    written += bytesWritten;
    if (written < sizeBytes) left = after(left, bytesWritten);
  }
}

/** The pieces without their first bytes. */
function after(pieces: readonly Buffer[], bytes: number): Buffer[] {
  let skip = bytes;
  const left: Buffer[] = [];
  for (const piece of pieces) {
    if (skip < piece.length) left.push(piece.subarray(skip));
    skip = Math.max(skip - piece.length, 0);
  }
  return left;
}
