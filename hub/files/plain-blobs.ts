/** Large plain blobs: files under their digests. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { SYNC_EVERY_BYTES, writeStream } from '@workbench-hub/shared/runtime/write-stream';
import type { FoundBlob, Hold } from '../core/ports/blobs.js';
import type { BlobDisk } from './blob-disk.js';
import type { BlobLocks } from './blob-locks.js';
import { plainName } from './blob-names.js';
import type { BlobPlace } from './blob-place.js';
import { touchFile } from './touch-file.js';

/** Location of blobs and the means to work on them. */
export interface BlobLocation {
  /** Where whole blobs lie. */
  readonly place: BlobPlace;
  /** Folder of incomplete files, on `disk`. */
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

  /** Puts a complete and synced file into the place. */
  async keep(path: string, digest: string): Promise<void> {
    const { place, locks } = this.#location;
    await place.put(plainName(digest), path, (step) => locks.locked({ digest, encrypted: false }, step));
  }

  /** True when the blob exists; a sweep then treats it as new. */
  renew(digest: string): Promise<boolean> {
    const { place, locks } = this.#location;
    return locks.locked({ digest, encrypted: false }, () => place.renew(plainName(digest)));
  }

  /** Undefined when it does not exist. */
  find(digest: string): Promise<FoundBlob | undefined> {
    const { place, locks } = this.#location;
    return locks.locked({ digest, encrypted: false }, async () => {
      const file = await place.find(plainName(digest));
      if (!file) return undefined;
      const { sizeBytes } = file;
      return {
        sizeBytes,
        isEncrypted: false,
        open: ({ start, end } = { start: 0, end: sizeBytes }) =>
          start >= end ? Readable.from([]) : file.read(start, end),
      };
    });
  }
}
