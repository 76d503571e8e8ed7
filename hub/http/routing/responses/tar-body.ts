/** A tar archive as the body of a response, made while it is sent: no file is ever in memory as a whole. */
import { pipeline } from 'node:stream/promises';
import type { NamedFileRef } from '@workbench-hub/shared/domain/job';
import { type Pack, pack } from 'tar-stream';
import type { FoundBlob, Hold } from '../../../core/ports/blobs.js';

export interface ArchivedFiles {
  readonly files: readonly NamedFileRef[];
  /** Folder in the archive that has all files under their paths. */
  readonly folder: string;
  readonly modifiedAtMs: number;
  /** Begins a hold on all files, when the first byte is read. */
  readonly beginHold: () => Hold;
  /** Finds the content of a file when its turn has come. */
  readonly find: (file: NamedFileRef, hold: Hold) => Promise<FoundBlob>;
}

/** `onFailure` is called with the reason why the response is aborted. */
export function tarBody(
  archived: ArchivedFiles,
  onFailure: (error: unknown) => void,
): ReadableStream<Uint8Array> {
  const archive = pack();
  const chunks = (archive as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  let hold: Hold | undefined;
  // A reader may leave while a file is looked for or a chunk is read.
  let isOver = false;
  const end = () => {
    isOver = true;
    hold?.release();
  };
  const begin = () => {
    hold = archived.beginHold();
    fill(archive, archived, hold, () => isOver).catch((error: Error) => archive.destroy(error));
  };
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        // Nothing is opened for a body that nobody reads.
        if (!hold) begin();
        try {
          const chunk = await chunks.next();
          if (isOver) return;
          if (!chunk.done) return controller.enqueue(chunk.value);
          end();
          controller.close();
        } catch (error) {
          if (isOver) return;
          end();
          onFailure(error);
          throw error;
        }
      },
      cancel: () => {
        end();
        archive.destroy();
      },
    },
    { highWaterMark: 0 },
  );
}

/** Adds all files, as long as the archive is read: nothing may be added to a hold that has ended. */
async function fill(
  archive: Pack,
  { files, folder, modifiedAtMs, find }: ArchivedFiles,
  hold: Hold,
  isOver: () => boolean,
): Promise<void> {
  for (const ref of files) {
    if (isOver()) return;
    const file = await find(ref, hold);
    if (isOver()) return;
    const name = `${folder}/${ref.path}`;
    const header = { name, size: file.sizeBytes, mtime: new Date(modifiedAtMs), mode: 0o644 };
    // An archive that is destroyed takes no entry: its file must not be open by then.
    const entry = archive.entry(header);
    await pipeline(file.open(), entry);
  }
  archive.finalize();
}
