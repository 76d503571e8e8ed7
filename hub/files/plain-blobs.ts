/** Large plain blobs: files `<first two digits>/<digest>`. A file has its name only when it is complete and durable: it
 *  is written under a temporary name, synced, renamed, and its folder synced. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import type { Clock, Runtime } from '@workbench-hub/shared/runtime/runtime';
import { SYNC_EVERY_BYTES, writeStream } from '@workbench-hub/shared/runtime/write-stream';
import type { FoundBlob, Hold } from '../core/ports/blobs.js';
import { absent, type BlobDisk } from './blob-disk.js';
import type { BlobLocks } from './blob-locks.js';
import { folderOfName, plainName } from './blob-names.js';

/** Location of blobs and the means to work on them. */
export interface BlobLocation {
  readonly folder: string;
  /** Folder of incomplete files. */
  readonly temporaryFolder: string;
  readonly disk: BlobDisk;
  readonly locks: BlobLocks;
  readonly runtime: Runtime;
}

export class PlainBlobs {
  readonly #location: BlobLocation;

  constructor(location: BlobLocation) {
    this.#location = location;
  }

  /** Writes a blob of unknown digest. */
  async write(stream: AsyncIterable<Buffer>, hold: Hold | undefined): Promise<FileRef> {
    const { disk, runtime, temporaryFolder } = this.#location;
    const temporary = join(temporaryFolder, runtime.newId());
    const hash = createHash('sha256');
    let sizeBytes = 0;
    try {
      const file = await disk.open(temporary, 'wx');
      try {
        const onChunk = (chunk: Uint8Array) => {
          hash.update(chunk);
          sizeBytes += chunk.length;
        };
        await writeStream(file, stream, { onChunk, syncEveryBytes: SYNC_EVERY_BYTES });
        await touchFile(file, runtime.clock);
        await file.sync();
      } finally {
        await file.close();
      }
      const ref = { digest: hash.digest('hex'), sizeBytes };
      hold?.add(ref);
      await this.keep(temporary, ref.digest);
      return ref;
    } catch (error) {
      await disk.remove(temporary);
      throw error;
    }
  }

  /** Names a complete and synced file. */
  async keep(path: string, digest: string): Promise<void> {
    await this.#location.locks.locked({ digest, encrypted: false }, () =>
      giveName(this.#location, path, plainName(digest)),
    );
  }

  /** True when the blob exists; a sweep then treats it as new. */
  renew(digest: string): Promise<boolean> {
    return this.#location.locks.locked({ digest, encrypted: false }, () => this.#touch(digest));
  }

  /** Undefined when it does not exist. */
  find(digest: string): Promise<FoundBlob | undefined> {
    return this.#location.locks.locked({ digest, encrypted: false }, async () => {
      const { disk } = this.#location;
      const path = this.pathOf(digest);
      const info = await disk.stat(path).catch(absent(undefined));
      if (!info || !(await this.#touch(digest))) return undefined;
      const sizeBytes = info.size;
      return {
        sizeBytes,
        isEncrypted: false,
        open: ({ start, end } = { start: 0, end: sizeBytes }) =>
          start >= end ? Readable.from([]) : disk.read(path, start, end),
      };
    });
  }

  pathOf(digest: string): string {
    return pathOfName(this.#location, plainName(digest));
  }

  #touch(digest: string): Promise<boolean> {
    return touch(this.#location, this.pathOf(digest));
  }
}

export function pathOfName({ folder }: BlobLocation, name: string): string {
  return join(folder, folderOfName(name), name);
}

/** Durably names a complete and synced file. */
export async function giveName(location: BlobLocation, path: string, name: string): Promise<void> {
  const { folder, disk } = location;
  const parent = join(folder, folderOfName(name));
  await disk.makeFolder(parent);
  await disk.rename(path, pathOfName(location, name));
  await disk.syncFolder(parent);
  await disk.syncFolder(folder);
}

/** False when the file does not exist. */
export async function touch({ disk, runtime }: BlobLocation, path: string): Promise<boolean> {
  const nowS = runtime.clock.nowMs() / 1000;
  return disk.utimes(path, nowS, nowS).then(() => true, absent(false));
}

/** The system's clock may differ from the runtime's. */
export async function touchFile(
  file: { utimes(accessedS: number, modifiedS: number): Promise<void> },
  clock: Clock,
): Promise<void> {
  const nowS = clock.nowMs() / 1000;
  await file.utimes(nowS, nowS);
}
