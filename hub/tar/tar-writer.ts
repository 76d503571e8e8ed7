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

/** Codes of a file system without hard links, such as FAT and many network file systems. */
const NO_LINKS = ['EPERM', 'EOPNOTSUPP', 'ENOTSUP', 'ENOSYS', 'EMLINK'];

export interface ArchiveOptions {
  /** Whether an existing file is replaced. */
  readonly overwrite: boolean;
  /** {@link link} of Node.js by default. */
  readonly makeLink?: typeof link;
}

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
  { overwrite, makeLink = link }: ArchiveOptions,
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
      if (overwrite) await rename(temporary, file);
      else await giveFreeName(temporary, file, makeLink);
      await syncFolder(dirname(file));
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

/** Gives the file its name, unless that exists: a rename would replace it. */
async function giveFreeName(temporary: string, file: string, makeLink: typeof link): Promise<void> {
  try {
    await makeLink(temporary, file);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!NO_LINKS.includes(code)) throw refusalOf(error, file);
    await renameToFree(temporary, file);
    return;
  }
  await rm(temporary);
}

/** Reserves the name with an empty file, and replaces that. */
async function renameToFree(temporary: string, file: string): Promise<void> {
  const reserved = await open(file, 'wx', 0o600).catch((error: unknown) => {
    throw refusalOf(error, file);
  });
  await reserved.close();
  try {
    await rename(temporary, file);
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  }
}

/** {@link StartRefused} for an error by which the name is taken; any other error as it is. */
function refusalOf(error: unknown, file: string): unknown {
  if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return error;
  return new StartRefused(`${file} is there already: choose another name, or use --overwrite`);
}

async function syncFolder(path: string): Promise<void> {
  const folder: FileHandle = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
