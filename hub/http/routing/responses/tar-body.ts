/** A tar archive as the body of a response, made while it is sent: no file is ever in memory as a whole. */
import { pipeline } from 'node:stream/promises';
import { type Pack, pack } from 'tar-stream';
import type { FoundBlob } from '../../../core/ports/blobs.js';

export interface ArchivedFile {
  /** Path in the archive, with `/`. */
  readonly path: string;
  /** Finds the content when its turn has come. */
  readonly find: () => Promise<FoundBlob>;
}

/** `onFailure` is called with the reason why the response is aborted. */
export function tarBody(
  files: readonly ArchivedFile[],
  modifiedAtMs: number,
  onFailure: (error: unknown) => void,
): ReadableStream<Uint8Array> {
  const archive = pack();
  const chunks = (archive as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  let isBegun = false;
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        // Nothing is opened for a body that nobody reads.
        if (!isBegun) fill(archive, files, modifiedAtMs).catch((error: Error) => archive.destroy(error));
        isBegun = true;
        try {
          const chunk = await chunks.next();
          if (chunk.done) controller.close();
          else controller.enqueue(chunk.value);
        } catch (error) {
          onFailure(error);
          throw error;
        }
      },
      cancel: () => archive.destroy(),
    },
    { highWaterMark: 0 },
  );
}

async function fill(archive: Pack, files: readonly ArchivedFile[], modifiedAtMs: number): Promise<void> {
  for (const { path, find } of files) {
    const file = await find();
    const header = { name: path, size: file.sizeBytes, mtime: new Date(modifiedAtMs), mode: 0o644 };
    await pipeline(file.open(), archive.entry(header));
  }
  archive.finalize();
}
