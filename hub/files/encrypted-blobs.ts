/** Encrypted blobs of a blob store, in files beside the plain ones, with names that reveal nothing. No plain byte of an encrypted
 *  blob is on the disk, however small it is. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import { SYNC_EVERY_BYTES, writeStream } from '@workbench-hub/shared/runtime/write-stream';
import type { FoundBlob, Hold } from '../core/ports/blobs.js';
import type { BlobDisk } from './blob-disk.js';
import { folderOfName, isEncryptedName, isFormerEncryptedName, KeyedNames } from './blob-names.js';
import { anotherKey, BlobCipher, findEncrypted, isEncryptedWith } from './encrypted.js';
import { type BlobLocation, giveName, pathOfName, touch, touchFile } from './plain-blobs.js';

/** Files tried to check a key. */
const SAMPLES = 20;

export class EncryptedBlobs {
  readonly #location: BlobLocation;
  readonly #key: Buffer;
  readonly #names: KeyedNames;

  /** `key` has 32 bytes. */
  constructor(location: BlobLocation, key: Buffer) {
    this.#location = location;
    this.#key = key;
    this.#names = new KeyedNames(key);
  }

  /** Renames files with a former, digest-based name. */
  async renameFormer(): Promise<void> {
    const { folder, disk } = this.#location;
    for (const prefix of await prefixesIn(folder, disk)) {
      const former = (await disk.list(join(folder, prefix))).filter(isFormerEncryptedName);
      for (const name of former) {
        const path = join(folder, prefix, name);
        // A file that this key cannot read keeps the name by which it is found and reported.
        if (!(await isEncryptedWith(this.#key, path, disk))) continue;
        await giveName(this.#location, path, this.#names.nameOf(name.slice(0, 64)));
      }
      if (former.length > 0) await disk.syncFolder(join(folder, prefix));
    }
  }

  pathOf(digest: string): string {
    return pathOfName(this.#location, this.nameOf(digest));
  }

  nameOf(digest: string): string {
    return this.#names.nameOf(digest);
  }

  async store(stream: AsyncIterable<Buffer>, hold: Hold | undefined): Promise<FileRef> {
    const { disk, runtime, temporaryFolder } = this.#location;
    const temporary = join(temporaryFolder, runtime.newId());
    try {
      const ref: FileRef = {
        ...(await writeEncrypted(this.#location, this.#key, temporary, stream)),
        encrypted: true,
      };
      hold?.add(ref);
      await this.#locked(ref.digest, () => giveName(this.#location, temporary, this.nameOf(ref.digest)));
      return ref;
    } catch (error) {
      await disk.remove(temporary);
      throw error;
    }
  }

  find(digest: string): Promise<FoundBlob | undefined> {
    const { disk } = this.#location;
    return this.#locked(digest, async () => {
      const path = this.pathOf(digest);
      if (!(await touch(this.#location, path))) return undefined;
      const found = await findEncrypted(path, digest, this.#key, disk);
      return found && { ...found, isEncrypted: true };
    });
  }

  /** Removes a file of unknown digest if `isToGo` returns true while nobody stores or finds it; false when it stays.
   *  Files that this key cannot read stay. */
  async removeOrphan(name: string, isToGo: (path: string) => Promise<boolean>): Promise<boolean> {
    const { disk, locks } = this.#location;
    const path = pathOfName(this.#location, name);
    return locks.lockedName(name, async () => {
      if (!(await isToGo(path)) || !(await isEncryptedWith(this.#key, path, disk))) return false;
      await disk.remove(path);
      return true;
    });
  }

  /** Removes the file of a blob whose lock the caller holds. */
  async remove(digest: string): Promise<void> {
    const { disk, locks } = this.#location;
    await locks.lockedName(this.nameOf(digest), () => disk.remove(this.pathOf(digest)));
  }

  /** Throws the reason for a missing blob: with another key it has another name. */
  async explainAbsence(): Promise<void> {
    const { folder, disk } = this.#location;
    const foreign = await fileOfAnotherKey(folder, this.#key, disk);
    if (foreign !== undefined) throw anotherKey(foreign);
  }

  /** Not concurrent with {@link remove} and {@link removeOrphan}. */
  #locked<T>(digest: string, step: () => Promise<T>): Promise<T> {
    const { locks } = this.#location;
    return locks.locked({ digest, encrypted: true }, () => locks.lockedName(this.nameOf(digest), step));
  }
}

/** Writes a stream as an encrypted, synced file, whose header has the digest of the stream, or this one in its place. */
export async function writeEncrypted(
  { disk, runtime }: BlobLocation,
  key: Buffer,
  path: string,
  stream: AsyncIterable<Buffer>,
  instead?: string,
): Promise<{ readonly digest: string; readonly sizeBytes: number }> {
  const hash = instead === undefined ? createHash('sha256') : undefined;
  const cipher = new BlobCipher(key);
  let sizeBytes = 0;
  const file = await disk.open(path, 'wx');
  try {
    const onPlain = (chunk: Buffer) => {
      hash?.update(chunk);
      sizeBytes += chunk.length;
    };
    await writeStream(file, encryptedStream(cipher, stream, onPlain), {
      onChunk: () => undefined,
      syncEveryBytes: SYNC_EVERY_BYTES,
    });
    const digest = hash?.digest('hex') ?? (instead as string);
    const header = cipher.header(digest, sizeBytes);
    await file.write(header, 0, header.length, 0);
    await touchFile(file, runtime.clock);
    await file.sync();
    return { digest, sizeBytes };
  } finally {
    await file.close();
  }
}

/** Path of an encrypted file that this key cannot read; undefined when none of the tried files is one. */
export async function fileOfAnotherKey(
  folder: string,
  key: Buffer,
  disk: BlobDisk,
): Promise<string | undefined> {
  let tried = 0;
  for (const prefix of await prefixesIn(folder, disk)) {
    for (const name of await disk.list(join(folder, prefix))) {
      if (!isEncryptedName(name) && !isFormerEncryptedName(name)) continue;
      const path = join(folder, folderOfName(name), name);
      if (!(await isEncryptedWith(key, path, disk))) return path;
      if (++tried >= SAMPLES) return undefined;
    }
  }
  return undefined;
}

/** Folders of blob files. */
export async function prefixesIn(folder: string, disk: BlobDisk): Promise<string[]> {
  return (await disk.list(folder)).filter((name) => /^[0-9a-f]{2}$/.test(name));
}

/** The file from its start, with space for the header. */
async function* encryptedStream(
  cipher: BlobCipher,
  stream: AsyncIterable<Buffer>,
  onPlain: (chunk: Buffer) => void,
): AsyncGenerator<Buffer> {
  yield BlobCipher.placeholder;
  for await (const chunk of stream) {
    onPlain(chunk);
    yield* cipher.add(chunk);
  }
  yield* cipher.end();
}
