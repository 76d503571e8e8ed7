import type { StoredFile } from '../core/ports/files.js';

/** The content of a file as the body of an answer. It is opened when somebody reads: nobody reads the answer to HEAD. */
export function contentStream(file: StoredFile): ReadableStream<Uint8Array> {
  let pieces: AsyncIterator<Buffer> | undefined;
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        pieces ??= file.open()[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
        const piece = await pieces.next();
        if (piece.done) controller.close();
        else controller.enqueue(piece.value);
      },
      cancel: async () => {
        await pieces?.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}
