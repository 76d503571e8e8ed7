/** Bytes between two syncs of a large file, which leave little for the last sync, for which the sender waits. */
export const SYNC_EVERY_BYTES = 128 * 1024 * 1024;

/** A file opened for writing. */
export interface WritableFile {
  writev(pieces: readonly Uint8Array[]): Promise<{ readonly bytesWritten: number }>;
  datasync(): Promise<void>;
}

/** Maximum buffered bytes while the stream continues. */
const WAITING_BYTES = 1024 * 1024;

export interface WriteStreamOptions {
  /** Called with each piece before it is written; may throw. */
  readonly onChunk: (chunk: Uint8Array) => void;
  /** Bytes between two syncs, so that the last sync of a large file does not take minutes. */
  readonly syncEveryBytes?: number;
  /** Makes room on a full disk; false when it cannot. */
  readonly makeRoom?: () => Promise<boolean>;
}

/** Appends a stream to an open file. Pieces that arrive during a write are written together, since each call costs more than
 *  its bytes. When the stream breaks, earlier pieces are written. */
export async function writeStream(
  file: WritableFile,
  content: AsyncIterable<Uint8Array>,
  { onChunk, syncEveryBytes = Number.POSITIVE_INFINITY, makeRoom }: WriteStreamOptions,
): Promise<void> {
  let waiting: Uint8Array[] = [];
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
        await writeAll(file, pieces, sizeBytes, makeRoom);
        unsyncedBytes += sizeBytes;
        if (unsyncedBytes < syncEveryBytes) continue;
        unsyncedBytes = 0;
        await file.datasync();
      }
    } catch (error) {
      failure = { error };
    } finally {
      // In the same turn: the next piece starts a new write.
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
      // An empty `write` would end before `writing` is set.
      if (chunk.length === 0) continue;
      waiting.push(chunk);
      waitingBytes += chunk.length;
      writing ??= write();
      if (waitingBytes >= WAITING_BYTES || failure) await written();
    }
  } finally {
    await written();
  }
}

async function writeAll(
  file: WritableFile,
  pieces: readonly Uint8Array[],
  sizeBytes: number,
  makeRoom: WriteStreamOptions['makeRoom'],
): Promise<void> {
  for (let done = 0; done < sizeBytes; ) {
    try {
      done += (await file.writev(after(pieces, done))).bytesWritten;
    } catch (error) {
      const isFull = (error as NodeJS.ErrnoException).code === 'ENOSPC';
      if (!isFull || !(await makeRoom?.())) throw error;
    }
  }
}

/** Pieces without their first bytes. */
function after(pieces: readonly Uint8Array[], bytes: number): Uint8Array[] {
  let skip = bytes;
  const left: Uint8Array[] = [];
  for (const piece of pieces) {
    if (skip < piece.length) left.push(skip === 0 ? piece : piece.subarray(skip));
    skip = Math.max(skip - piece.length, 0);
  }
  return left;
}
