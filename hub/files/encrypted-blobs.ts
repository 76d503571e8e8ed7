/** Encrypted blobs of a blob store, in files beside the plain ones, with names that reveal nothing. No plain byte of an encrypted
 *  blob is on the disk, however small it is. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import { SYNC_EVERY_BYTES, writeStream } from '@workbench-hub/shared/runtime/write-stream';
import type { FoundBlob, Hold } from '../core/ports/blobs.js';
import { isEncryptedName, isFormerEncryptedName, KeyedNames } from './blob-names.js';
import type { BlobPlace } from './blob-place.js';
import { anotherKey, BlobCipher, isEncryptedWith, openEncrypted } from './encrypted.js';
import type { BlobLocation } from './plain-blobs.js';
import { touchFile } from './touch-file.js';

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

  nameOf(digest: string): string {
    return this.#names.nameOf(digest);
  }

  async store(stream: AsyncIterable<Buffer>, hold: Hold | undefined): Promise<FileRef> {
    const { place, disk, runtime, temporaryFolder } = this.#location;
    const temporary = join(temporaryFolder, runtime.newId());
    try {
      const ref: FileRef = {
        ...(await writeEncrypted(this.#location, this.#key, temporary, stream)),
        encrypted: true,
      };
      hold?.add(ref);
      await place.put(this.nameOf(ref.digest), temporary, (step) => this.#locked(ref.digest, step));
      return ref;
    } catch (error) {
      await disk.remove(temporary);
      throw error;
    }
  }

  find(digest: string): Promise<FoundBlob | undefined> {
    const { place } = this.#location;
    const name = this.nameOf(digest);
    return this.#locked(digest, async () => {
      if (!(await place.renew(name))) return undefined;
      const found = await openEncrypted(() => place.open(name), digest, this.#key);
      return found && { ...found, isEncrypted: true };
    });
  }

  /** Removes a file of unknown digest if `isToGo` returns true while nobody stores or finds it; false when it stays.
   *  Files that this key cannot read stay. */
  async removeOrphan(name: string, isToGo: () => Promise<boolean>): Promise<boolean> {
    const { place, locks } = this.#location;
    return locks.lockedName(name, async () => {
      const usedAtMs = await place.usedAtMs(name);
      if (usedAtMs === undefined || !(await isToGo())) return false;
      if (!(await isEncryptedWith(this.#key, () => place.open(name)))) return false;
      await place.remove([{ name, usedAtMs }]);
      return true;
    });
  }

  /** Removes the file of a blob whose lock the caller holds, with a time of use only if it was not used since. */
  async remove(digest: string, usedAtMs: number | undefined): Promise<void> {
    const { place, locks } = this.#location;
    const name = this.nameOf(digest);
    const file = usedAtMs === undefined ? name : { name, usedAtMs };
    await locks.lockedName(name, () => place.remove([file]));
  }

  /** Throws the reason for a missing blob: with another key it has another name. */
  async explainAbsence(): Promise<void> {
    const foreign = await fileOfAnotherKey(this.#location.place, this.#key);
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

/** Location of an encrypted file that this key cannot read; undefined when none of the tried files is one. */
export async function fileOfAnotherKey(
  place: Pick<BlobPlace, 'names' | 'open'>,
  key: Buffer,
): Promise<string | undefined> {
  let tried = 0;
  for await (const names of place.names(Number.MAX_SAFE_INTEGER)) {
    for (const name of names) {
      if (!isEncryptedName(name) && !isFormerEncryptedName(name)) continue;
      let location = name;
      const open = async () => {
        const file = await place.open(name);
        location = file?.location ?? name;
        return file;
      };
      if (!(await isEncryptedWith(key, open))) return location;
      if (++tried >= SAMPLES) return undefined;
    }
  }
  return undefined;
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
