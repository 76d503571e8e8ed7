/** Blobs: the contents of files, each stored once under its SHA-256. */
import type { Readable } from 'node:stream';
import type { FileRef } from '@workbench-hub/shared/domain/job';

/** The received blob does not have the announced digest. */
export class DigestMismatch extends Error {
  override readonly name = 'DigestMismatch';
}

/** The bytes of a blob are damaged or gone: another read meets the same. */
export class BlobUnreadable extends Error {
  override readonly name: string = 'BlobUnreadable';
}

/** A blob exceeds its maximum size. */
export class BlobTooLarge extends Error {
  override readonly name = 'BlobTooLarge';
  readonly maxBytes: number;

  constructor(maxBytes: number) {
    super(`more than ${maxBytes} bytes`);
    this.maxBytes = maxBytes;
  }
}

/** Resume offset differs from the bytes already stored. */
export class WrongOffset extends Error {
  override readonly name = 'WrongOffset';
  /** Bytes already stored. */
  readonly receivedBytes: number;

  constructor(receivedBytes: number) {
    super(`${receivedBytes} bytes of this blob are stored: continue from there`);
    this.receivedBytes = receivedBytes;
  }
}

/** Another sender is transferring the same blob. */
export class TransferInProgress extends Error {
  override readonly name = 'TransferInProgress';

  constructor() {
    super('another sender is transferring this blob: retry in a moment');
  }
}

/** Bytes from `start` up to `end`, excluded; both within the blob. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export interface FoundBlob {
  readonly sizeBytes: number;
  /** Stored form; `open` always returns plain bytes. */
  readonly isEncrypted: boolean;
  /** Opens the blob or a part of it. Damaged data fails the stream. */
  open(range?: ByteRange): Readable;
}

/** A blob in one of its two stored forms. */
export interface BlobForm {
  readonly digest: string;
  readonly encrypted: boolean;
}

/** Keeps blobs from removal while a request works with them: from before they are stored or found until a reference to them
 *  is durable. */
export interface Hold {
  add(blob: { readonly digest: string; readonly encrypted?: boolean }): void;
  /** Ends the hold: its blobs are referenced by now, or no longer needed. */
  release(): void;
  /** Ends the hold and removes its unreferenced blobs at once. */
  abandon(): void;
}

/** The received bytes of an upload are gone, such as after a restore. */
export class UploadLost extends Error {
  override readonly name = 'UploadLost';
}

/** A resumable upload, as far as its bytes are concerned. */
export interface UploadRef {
  readonly id: string;
  readonly encrypt: boolean;
  readonly sizeBytes: number;
}

/** Bytes of unfinished uploads; those of an encrypted one are never on the disk in plain. */
export interface UploadedBytes {
  /** Bytes that a new upload may have on the disk at present. */
  freeBytes(): Promise<number>;
  /** Appends pieces at `fromByte`; bytes beyond it are dropped first. Calls `onDurable` with the number of bytes that are durable,
   *  every 16 MiB and at the end, and waits for it. Rejects with {@link UploadLost}, with what `onDurable` rejects with, and with
   *  HubError `STORAGE_FULL`; what is durable stays. */
  append(
    upload: UploadRef,
    fromByte: number,
    pieces: AsyncIterable<Buffer>,
    onDurable: (bytes: number) => Promise<void>,
  ): Promise<void>;
  /** Makes a blob of all bytes of an upload, which is held. Calls `onDigest` before the blob exists under its digest (encrypted: just
   *  after), and rejects as it does. Rejects with {@link UploadLost} when bytes are missing. */
  toBlob(upload: UploadRef, hold: Hold, onDigest: (digest: string) => Promise<void>): Promise<FileRef>;
  /** Removes all bytes of an upload. */
  remove(id: string): Promise<void>;
  /** Ids of the uploads that have bytes. */
  ids(): Promise<string[]>;
}

export interface BlobStore {
  /** Bytes of unfinished resumable uploads. */
  readonly uploads: UploadedBytes;
  /** Begins an empty hold, which must be ended. */
  hold(): Hold;
  /** Keeps blobs for the few seconds until they are opened or held. */
  holdBriefly(blobs: Iterable<FileRef>): void;
  /** Stores a blob. It is durable together with the task that refers to it: a later durable commit of the task store covers
   *  it. A blob that is neither referenced nor held is swept later. Rejects with HubError `STORAGE_FULL`. */
  put(blob: Buffer, hold?: Hold): Promise<FileRef>;
  /** Does the same as {@link put}, unless a task or named object refers to this blob in its encrypted form: no plain byte of that
   *  reaches the disk. The reference tells the form. */
  putUnlessEncrypted(blob: Buffer, hold: Hold): Promise<FileRef>;
  /** Stores a stream, never held in memory as a whole. Rejects with {@link BlobTooLarge} beyond `maxBytes`, and as the
   *  stream does; then nothing is stored. */
  store(stream: AsyncIterable<Buffer>, maxBytes: number, hold?: Hold): Promise<FileRef>;
  /** Does the same as {@link store}, without writing a plain byte to the disk. */
  storeEncrypted(stream: AsyncIterable<Buffer>, maxBytes: number, hold?: Hold): Promise<FileRef>;
  /** Stores a stream with an announced digest; rejects with {@link DigestMismatch} when it differs. Unless it is small, the
   *  received part of a broken stream is kept for a while, and `stream` may resume at `fromByte`. Rejects with
   *  {@link WrongOffset} for another offset, and with {@link TransferInProgress} during another transfer. */
  receive(expected: FileRef, stream: Readable, fromByte?: number, hold?: Hold): Promise<void>;
  /** Stored bytes of a partial blob. */
  receivedBytes(digest: string): Promise<number>;
  /** Finds a blob in the form of the reference, or for a digest in either form. Rejects when its size differs from the
   *  reference, or when an encrypted one is damaged or has another key. Without a hold, it must be opened within seconds. */
  find(blob: string | FileRef, hold?: Hold): Promise<FoundBlob | undefined>;
  /** Removes blobs without a reference or hold; resolves when that is done. Never rejects: failed removals are retried. */
  reclaim(): Promise<void>;
  /** Removes unreferenced blobs without a hold that are older than `ageMs`: left by a crash, or uploaded by agents and never
   *  reported. Resolves with their number. */
  sweep(ageMs: number): Promise<number>;
  /** Removes what this hub has of blobs that nobody has continued for `ageMs`. Resolves with their number. */
  sweepPartial(ageMs: number): Promise<number>;
}

/** Other hubs with the same place of blobs. Blobs have the names of the place, a small one that of a file. */
export interface OtherHolders {
  /** Whether there are others now, or were when one of them asked last. */
  isShared(): boolean;
  /** The names among these whose blobs other hubs hold at a moment during the call; null while one of these hubs cannot be asked. A hub that begins
   *  to hold a blob later renews it. */
  heldOf(names: readonly string[]): Promise<ReadonlySet<string> | null>;
  /** Sets what this hub answers: the names among these whose blobs it holds. */
  serve(heldOf: (names: readonly string[]) => readonly string[]): void;
}

/** A blob that may be removed if nobody has stored or used it since. */
export interface UnusedBlob extends BlobForm {
  /** Storing time of an inline blob; any when absent. */
  readonly storedAtMs?: number | undefined;
}

/** A removed reference. */
export interface DroppedBlob extends BlobForm {
  /** Ascending in the order of removal. */
  readonly id: number;
}

/** Inline blobs, and the references of tasks and named objects to all blobs. Part of the task store. */
export interface InlineBlobs {
  put(digest: string, blob: Buffer, storedAtMs: number): Promise<void>;
  /** Whether this blob was stored within a minute of `nowMs`, so that a hold is enough to keep it. */
  isRecent(digest: string, nowMs: number): boolean;
  /** Blobs that another hub may remove from now on are not recent any more. */
  forgetRecent(digests: readonly string[]): void;
  /** Gives a blob another storing time, at or close to this one, if it exists. */
  renew(digest: string, nowMs: number): Promise<void>;
  /** Storing times of those among these that exist. */
  storedAt(digests: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Unreferenced ones with a digest after this one, in order, that were stored before this time. */
  old(after: string, storedBeforeMs: number, limit: number): Promise<readonly string[]>;
  find(digest: string): Promise<Buffer | undefined>;
  /** Removes unreferenced inline blobs without a hold that were stored before `storedBeforeMs`. A storing time in the future
   *  counts as now. */
  sweep(storedBeforeMs: number, nowMs: number, isHeld: (digest: string) => boolean): Promise<number>;
  /** The referenced ones among these digests, in the encrypted or the plain form. */
  referenced(digests: readonly string[], encrypted: boolean): Promise<Set<string>>;
  /** Digests of all referenced encrypted blobs. */
  referencedEncrypted(): Promise<string[]>;
  /** Determines in one transaction which of these blobs are unreferenced and not held, and removes the inline ones among
   *  them that have the given storing time; resolves when that is durable. */
  removeUnreferenced<Blob extends UnusedBlob>(
    blobs: readonly Blob[],
    isHeld: (blob: BlobForm) => boolean,
  ): Promise<{ readonly unreferenced: readonly Blob[]; readonly held: readonly Blob[] }>;
  /** Removed references with an id above `afterId`, in order, that are not forgotten yet. */
  dropped(afterId: number, limit: number): Promise<DroppedBlob[]>;
  forgetDropped(ids: readonly number[]): Promise<void>;
}

/** A place of blobs that several hubs can share. */
export interface SharedPlace {
  /** The same for hubs with the same place. */
  readonly id: string;
  /** The place in words. */
  readonly text: string;
}
