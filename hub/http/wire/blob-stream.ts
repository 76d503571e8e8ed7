/** Blobs as bodies of responses. `onFailure` is called with the reason why a response is aborted. */
import type { ByteRange, FoundBlob } from '../../core/ports/blobs.js';

/** Opens the file when the body is read: nobody reads the body of a response to HEAD. */
export function blobStream(
  file: FoundBlob,
  onFailure: (error: unknown) => void,
  range?: ByteRange,
): ReadableStream<Uint8Array> {
  let chunks: AsyncIterator<Buffer> | undefined;
  const open = () => {
    chunks ??= chunksOf(file, range);
    return chunks;
  };
  return streamOf(
    () => open().next(),
    async () => void (await chunks?.return?.()),
    onFailure,
  );
}

/** Resolves when the first chunk is read, so that a blob that cannot be read becomes an error response. */
export async function openBlobStream(
  file: FoundBlob,
  range: ByteRange | undefined,
  onFailure: (error: unknown) => void,
): Promise<ReadableStream<Uint8Array>> {
  const chunks = chunksOf(file, range);
  let first: IteratorResult<Buffer> | undefined = await chunks.next();
  const next = () => {
    const chunk = first ? Promise.resolve(first) : chunks.next();
    first = undefined;
    return chunk;
  };
  return streamOf(next, async () => void (await chunks.return?.()), onFailure);
}

function chunksOf(file: FoundBlob, range?: ByteRange): AsyncIterator<Buffer> {
  return file.open(range)[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
}

function streamOf(
  next: () => Promise<IteratorResult<Buffer>>,
  cancel: () => Promise<void>,
  onFailure: (error: unknown) => void,
): ReadableStream<Uint8Array> {
  // A reader may leave while a chunk is read.
  let isLeft = false;
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        try {
          const chunk = await next();
          if (isLeft) return;
          if (chunk.done) controller.close();
          else controller.enqueue(chunk.value);
        } catch (error) {
          if (isLeft) return;
          onFailure(error);
          throw error;
        }
      },
      cancel: () => {
        isLeft = true;
        return cancel();
      },
    },
    { highWaterMark: 0 },
  );
}
