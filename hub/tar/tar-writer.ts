/**
 * Writing of a POSIX tar archive that can be verified: its last entry, `SHA256SUMS`, has the digest of every other one. It is
 * written under a temporary name and renamed when it is complete and synced. A name that ends in `.gz` or `.tgz` is
 * compressed.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, link, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Transform, type TransformCallback } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { constants, createGzip } from 'node:zlib';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import { SYNC_EVERY_BYTES, writeStream } from '@workbench-hub/shared/runtime/write-stream';
import { pack } from 'tar-stream';

export const SUMS = 'SHA256SUMS';

const READ_BYTES = 256 * 1024;

export interface ArchiveWriter {
  addText(name: string, text: string): Promise<void>;
  /** `onBytes` is called for each chunk. */
  addFile(name: string, path: string, onBytes: (bytes: number) => void): Promise<void>;
  /** Resolves when the archive has its name. Rejects with {@link StartRefused} when the name was taken in the meantime. */
  finish(): Promise<void>;
  /** Removes the unfinished archive; does nothing after {@link finish}. */
  abandon(): Promise<void>;
}

/** Begins an archive under the temporary name, which becomes `file` at the end. */
export async function createArchive(
  file: string,
  temporary: string,
  { overwrite }: { readonly overwrite: boolean },
): Promise<ArchiveWriter> {
  const handle = await open(temporary, 'wx', 0o600);
  const tar = pack();
  const packed = /\.(gz|tgz)$/.test(file) ? tar.pipe(createGzip({ level: constants.Z_BEST_SPEED })) : tar;
  if (packed !== (tar as unknown)) tar.once('error', (error) => packed.destroy(error));
  const written = writeStream(handle, packed as AsyncIterable<Uint8Array>, {
    onChunk: () => undefined,
    syncEveryBytes: SYNC_EVERY_BYTES,
  });
  // Failures reject adding and finishing.
  written.catch((error: Error) => tar.destroy(error));
  const sums: string[] = [];
  let done = false;

  const addText = async (name: string, text: string): Promise<void> => {
    const content = Buffer.from(text);
    const entry = tar.entry({ ...header(name), size: content.length });
    entry.end(content);
    await Promise.race([finished(entry), written.then(() => undefined)]);
    sums.push(`${createHash('sha256').update(content).digest('hex')}  ${name}\n`);
  };

  return {
    addText,
    async addFile(name, path, onBytes) {
      const { size, mtime } = await stat(path);
      const hash = createHash('sha256');
      const entry = tar.entry({ ...header(name), size, mtime });
      const seen = new Transform({
        transform(piece: Buffer, _encoding: BufferEncoding, give: TransformCallback) {
          hash.update(piece);
          onBytes(piece.length);
          give(null, piece);
        },
      });
      const end = Math.max(size - 1, 0);
      const content = createReadStream(path, { highWaterMark: READ_BYTES, end });
      await Promise.race([pipeline(content, seen, entry), written]);
      sums.push(`${hash.digest('hex')}  ${name}\n`);
    },
    async finish() {
      await addText(SUMS, sums.join(''));
      tar.finalize();
      await written;
      await handle.sync();
      await handle.close();
      await giveName(temporary, file, overwrite);
      done = true;
    },
    async abandon() {
      if (done) return;
      tar.destroy();
      await written.catch(() => undefined);
      await handle.close().catch(() => undefined);
      await rm(temporary, { force: true });
    },
  };
}

function header(name: string) {
  return { name, mode: 0o600, uid: 0, gid: 0, uname: '', gname: '' };
}

async function giveName(temporary: string, file: string, overwrite: boolean): Promise<void> {
  if (overwrite) await rename(temporary, file);
  else {
    // Unlike a rename, this fails when the name exists.
    await link(temporary, file).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
      throw new StartRefused(`${file} is there already: choose another name, or use --overwrite`);
    });
    await rm(temporary);
  }
  const folder: FileHandle = await open(dirname(file), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
