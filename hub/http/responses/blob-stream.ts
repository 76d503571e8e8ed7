import type { StoredFile } from '../../core/ports/files.js';

/** The content of a file as the body of an answer. It is opened when somebody reads: nobody reads the answer to HEAD.
 *  `onFault` hears why an answer is broken off. */
export function contentStream(
  file: StoredFile,
  onFault: (error: unknown) => void,
): ReadableStream<Uint8Array> {
  let pieces: AsyncIterator<Buffer> | undefined;
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        try {
          pieces ??= file.open()[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
          const piece = await pieces.next();
          if (piece.done) controller.close();
          else controller.enqueue(piece.value);
        } catch (error) {
          onFault(error);
          throw error;
        }
      },
      cancel: async () => {
        await pieces?.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}
