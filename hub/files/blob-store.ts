/**
 * Blobs under their SHA-256: small ones in the database, where they share the commit of the task that refers to them, large
 * and encrypted ones as files of a place, which exist there only whole and durable. Unreferenced blobs are removed soon
 * ({@link Reclaiming}), those without a removed reference by age ({@link Sweeping}).
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import {
  type BlobForm,
  type BlobStore,
  DigestMismatch,
  type FoundBlob,
  type Hold,
  type InlineBlobs,
  type OtherHolders,
  type UploadedBytes,
  WrongOffset,
} from '../core/ports/blobs.js';
import { type BlobDisk, systemDisk } from './blob-disk.js';
import { BlobLocks } from './blob-locks.js';
import { isPlainName, plainName } from './blob-names.js';
import type { BlobPlace } from './blob-place.js';
import { chunksOf, limited, readAll, readUpTo, rejoined } from './blob-streams.js';
import { storageFull } from './disk-full.js';
import { EncryptedBlobs } from './encrypted-blobs.js';
import { FolderPlace } from './folder-place.js';
import { Holds } from './holds.js';
import { PartialBlobs } from './partial-blobs.js';
import { type BlobLocation, PlainBlobs } from './plain-blobs.js';
import { type LeavingBlob, Reclaiming } from './reclaiming.js';
import { Sweeping } from './sweeping.js';
import { UploadFiles } from './uploaded-bytes.js';

/** Maximum size of inline blobs; encrypted ones are never inline. */
export const MAX_INLINE_BYTES = 32 * 1024;

const TEMPORARY_FOLDER = 'incoming';
const UPLOADS_FOLDER = 'uploads';

export interface BlobStoreOptions {
  /** Local folder of incomplete blobs, and of whole ones unless there is a `place`. */
  readonly folder: string;
  /** Where whole blobs lie; in `folder` when left out. */
  readonly place?: BlobPlace;
  readonly inline: InlineBlobs;
  readonly runtime: Runtime;
  readonly log: Logger;
  /** 32 bytes. */
  readonly encryptionKey: Buffer;
  /** True while files must stay, referenced or not; never when left out. */
  readonly isPostponed?: () => Promise<boolean>;
  /** Other hubs with the same blobs; null or absent where there are never any. */
  readonly others?: OtherHolders | null;
  /** The machine's disk when left out. */
  readonly disk?: BlobDisk;
  readonly maxInlineBytes?: number;
}

/** Prepares the folder and removes partial writes of a crash. */
export async function openBlobStore(options: BlobStoreOptions): Promise<BlobStore> {
  const { folder, runtime, disk = systemDisk, encryptionKey: key } = options;
  const temporaryFolder = join(folder, TEMPORARY_FOLDER);
  await disk.makeFolder(temporaryFolder);
  await disk.makeFolder(join(folder, UPLOADS_FOLDER));
  const partial = await PartialBlobs.open(temporaryFolder, disk, runtime);
  const place = options.place ?? (await FolderPlace.open({ folder, disk, runtime, copiesIn: null }, key));
  const location: BlobLocation = { place, temporaryFolder, disk, locks: new BlobLocks(), runtime };
  return new TieredBlobStore(options, location, new EncryptedBlobs(location, key), partial);
}

class TieredBlobStore implements BlobStore {
  readonly uploads: UploadedBytes;
  readonly #inline: InlineBlobs;
  readonly #runtime: Runtime;
  readonly #maxInlineBytes: number;
  readonly #plain: PlainBlobs;
  readonly #encryptedBlobs: EncryptedBlobs;
  readonly #partial: PartialBlobs;
  readonly #holds: Holds;
  readonly #reclaiming: Reclaiming;
  readonly #sweeping: Sweeping;
  readonly #others: OtherHolders | null;
  readonly #place: BlobPlace;

  constructor(
    options: BlobStoreOptions,
    location: BlobLocation,
    encryptedBlobs: EncryptedBlobs,
    partial: PartialBlobs,
  ) {
    const {
      inline,
      runtime,
      log,
      isPostponed = async () => false,
      others = null,
      maxInlineBytes = MAX_INLINE_BYTES,
    } = options;
    this.#inline = inline;
    this.#others = others;
    this.#place = location.place;
    this.#runtime = runtime;
    this.#maxInlineBytes = maxInlineBytes;
    this.#plain = new PlainBlobs(location);
    this.#encryptedBlobs = encryptedBlobs;
    this.#partial = partial;
    this.uploads = new UploadFiles({
      folder: join(options.folder, UPLOADS_FOLDER),
      location,
      plain: this.#plain,
      encrypted: encryptedBlobs,
      key: options.encryptionKey,
      maxInlineBytes,
      putInline: (blob, hold) => this.#putInline(blob, hold),
    });
    this.#holds = new Holds(runtime.clock, (blobs) => this.#reclaiming.abandon(blobs));
    this.#reclaiming = new Reclaiming({
      inline,
      locks: location.locks,
      holds: this.#holds,
      place: location.place,
      clock: runtime.clock,
      timers: runtime.timers,
      log,
      removeFiles: (blobs) => this.#removeFiles(blobs),
      isPostponed,
      others,
      nameOf: (blob) => this.#nameOf(blob),
    });
    this.#sweeping = new Sweeping({
      location,
      encryptedBlobs,
      inline,
      holds: this.#holds,
      reclaiming: this.#reclaiming,
      others,
    });
    others?.serve((names) => this.#heldOf(names));
  }

  hold(): Hold {
    return this.#holds.begin();
  }

  holdBriefly(blobs: Iterable<FileRef>): void {
    for (const { digest, encrypted = false } of blobs) this.#holds.briefly({ digest, encrypted });
  }

  async put(blob: Buffer, hold?: Hold): Promise<FileRef> {
    if (blob.length <= this.#maxInlineBytes) return this.#putInline(blob, hold);
    const ref = refOf(blob);
    hold?.add(ref);
    if (await this.#plain.renew(ref.digest)) return ref;
    return this.#plain.write(chunksOf(blob), hold).catch(translated);
  }

  async putUnlessEncrypted(blob: Buffer, hold: Hold): Promise<FileRef> {
    const ref = refOf(blob);
    const isEncrypted = (await this.#inline.referenced([ref.digest], true)).size > 0;
    if (isEncrypted && (await this.#findEncrypted(ref.digest, hold))) return { ...ref, encrypted: true };
    return this.put(blob, hold);
  }

  async store(stream: AsyncIterable<Buffer>, maxBytes: number, hold?: Hold): Promise<FileRef> {
    const chunks = limited(stream, maxBytes);
    const first = await readUpTo(chunks, this.#maxInlineBytes);
    if (first.isWhole) return this.#putInline(first.bytes, hold);
    return this.#plain.write(rejoined(first.bytes, chunks), hold).catch(translated);
  }

  async storeEncrypted(stream: AsyncIterable<Buffer>, maxBytes: number, hold?: Hold): Promise<FileRef> {
    return this.#encryptedBlobs.store(limited(stream, maxBytes), hold).catch(translated);
  }

  async receive(expected: FileRef, stream: Readable, fromByte = 0, hold?: Hold): Promise<void> {
    const { digest: announced } = expected;
    hold?.add({ digest: announced });
    if (expected.sizeBytes > this.#maxInlineBytes) {
      const keep = (path: string) => this.#plain.keep(path, announced);
      await this.#partial.receive(expected, stream, fromByte, keep).catch(translated);
      return;
    }
    if (fromByte > 0) throw new WrongOffset(0);
    const whole = await readAll(stream, expected.sizeBytes);
    const { digest, sizeBytes } = refOf(whole);
    if (digest !== announced || sizeBytes !== expected.sizeBytes) {
      throw new DigestMismatch(`announced ${announced} (${expected.sizeBytes} bytes), received ${digest}`);
    }
    await this.#putInline(whole, hold);
  }

  receivedBytes(digest: string): Promise<number> {
    return this.#partial.sizeOf(digest);
  }

  async find(blob: string | FileRef, hold?: Hold): Promise<FoundBlob | undefined> {
    if (typeof blob === 'string') {
      const plain = await this.#findPlain(blob, hold);
      return plain ?? this.#findEncrypted(blob, hold);
    }
    const { digest, sizeBytes, encrypted } = blob;
    const found = await (encrypted ? this.#findEncrypted(digest, hold) : this.#findPlain(digest, hold));
    if (!found && encrypted) await this.#encryptedBlobs.explainAbsence();
    if (found && found.sizeBytes !== sizeBytes) {
      throw new Error(`blob ${digest} is damaged: it has ${found.sizeBytes} instead of ${sizeBytes} bytes`);
    }
    return found;
  }

  reclaim(): Promise<void> {
    return this.#reclaiming.reclaim();
  }

  async sweep(ageMs: number): Promise<number> {
    const beforeMs = this.#runtime.clock.nowMs() - ageMs;
    return this.#sweeping.sweep(beforeMs);
  }

  sweepPartial(ageMs: number): Promise<number> {
    return this.#partial.sweep(this.#runtime.clock.nowMs() - ageMs);
  }

  async #removeFiles(blobs: readonly LeavingBlob[]): Promise<void> {
    const plain = blobs.filter(({ encrypted }) => !encrypted);
    const files = plain.map(({ digest, fileUsedAtMs: usedAtMs }) =>
      usedAtMs === undefined ? plainName(digest) : { name: plainName(digest), usedAtMs },
    );
    if (files.length > 0) await this.#place.remove(files);
    for (const { digest, encrypted, fileUsedAtMs } of blobs)
      if (encrypted) await this.#encryptedBlobs.remove(digest, fileUsedAtMs);
  }

  #nameOf({ digest, encrypted }: BlobForm): string {
    return encrypted ? this.#encryptedBlobs.nameOf(digest) : plainName(digest);
  }

  /** The names among these whose blobs this hub holds. Another hub may remove the others from now on. */
  #heldOf(names: readonly string[]): string[] {
    this.#inline.forgetRecent(names);
    this.#place.forgetUses(names);
    const encrypted = new Set(this.#holds.encrypted().map((digest) => this.#encryptedBlobs.nameOf(digest)));
    return names.filter((name) =>
      isPlainName(name) ? this.#holds.has({ digest: name, encrypted: false }) : encrypted.has(name),
    );
  }

  async #putInline(blob: Buffer, hold: Hold | undefined): Promise<FileRef> {
    const ref = refOf(blob);
    hold?.add(ref);
    const nowMs = this.#runtime.clock.nowMs();
    // Tasks of a study bring the same model and script again and again.
    if (hold && this.#inline.isRecent(ref.digest, nowMs)) return ref;
    await this.#inline.put(ref.digest, blob, nowMs);
    return ref;
  }

  async #findPlain(digest: string, hold: Hold | undefined): Promise<FoundBlob | undefined> {
    this.#keep({ digest, encrypted: false }, hold);
    const blob = await this.#findInline(digest, hold);
    if (!blob) return this.#plain.find(digest);
    return {
      sizeBytes: blob.length,
      isEncrypted: false,
      open: (range) => Readable.from([range ? blob.subarray(range.start, range.end) : blob]),
    };
  }

  /** An inline blob, renewed where another hub might remove it. */
  async #findInline(digest: string, hold: Hold | undefined): Promise<Buffer | undefined> {
    const blob = await this.#inline.find(digest);
    const nowMs = this.#runtime.clock.nowMs();
    if (!blob || !hold || !this.#others?.isShared() || this.#inline.isRecent(digest, nowMs)) return blob;
    await this.#inline.renew(digest, nowMs);
    return this.#inline.find(digest);
  }

  #findEncrypted(digest: string, hold: Hold | undefined): Promise<FoundBlob | undefined> {
    this.#keep({ digest, encrypted: true }, hold);
    return this.#encryptedBlobs.find(digest);
  }

  #keep(blob: BlobForm, hold: Hold | undefined): void {
    if (hold) hold.add(blob);
    else this.#holds.briefly(blob);
  }
}

function refOf(blob: Buffer): FileRef {
  return { digest: createHash('sha256').update(blob).digest('hex'), sizeBytes: blob.length };
}

/** Rethrows a full disk as STORAGE_FULL, and any other error as it is. */
function translated(error: unknown): never {
  throw storageFull(error);
}
