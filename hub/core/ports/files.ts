/** Contents of files, each kept once under its SHA-256. */
import type { Readable } from 'node:stream';
import type { FileRef } from '@workbench-hub/shared/domain/job';

/** The content that came is not the one that was announced. */
export class DigestMismatch extends Error {
  override readonly name = 'DigestMismatch';
}

/** A content has more bytes than it may have. */
export class BlobTooLarge extends Error {
  override readonly name = 'ContentTooLarge';
  readonly maxBytes: number;

  constructor(maxBytes: number) {
    super(`more than ${maxBytes} bytes`);
    this.maxBytes = maxBytes;
  }
}

/** What is to be taken up does not begin where what was kept ends. */
export class WrongOffset extends Error {
  override readonly name = 'WrongOffset';
  /** How much is kept. */
  readonly receivedBytes: number;

  constructor(receivedBytes: number) {
    super(`${receivedBytes} bytes of this content are kept: go on from there`);
    this.receivedBytes = receivedBytes;
  }
}

/** Somebody else sends the same content at the moment. */
export class TransferInProgress extends Error {
  override readonly name = 'ContentUnderWay';

  constructor() {
    super('somebody else is sending this content: ask for it again in a moment');
  }
}

/** From `start` up to `end`, not included; both within the content. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export interface StoredFile {
  readonly sizeBytes: number;
  /** Whether it lies encrypted; what `open` gives is clear all the same. */
  readonly isEncrypted: boolean;
  /** Opens the content, or a part of it, for reading. What cannot be vouched for fails the stream instead of being given. */
  open(range?: ByteRange): Readable;
}

/** A content in one of the two forms in which it may lie. */
export interface BlobForm {
  readonly digest: string;
  readonly encrypted: boolean;
}

/** Keeps contents from being removed while a request works with them: from before they are stored or found until a durable
 *  step has named them. */
export interface Hold {
  add(content: { readonly digest: string; readonly encrypted?: boolean }): void;
  /** Ends it: what it held is named by now, or need not be there any more for its sake. */
  release(): void;
  /** Ends it: what it held and nothing names is removed at once. */
  abandon(): void;
}

export interface FileStore {
  /** Begins a hold on nothing. Every hold has to be ended. */
  hold(): Hold;
  /** Keeps contents for the few seconds until they are opened or held. */
  holdBriefly(contents: Iterable<FileRef>): void;
  /** Keeps a content. It is safe as soon as a task that names it is: a later durable commit of the task store covers
   *  it. A content that is neither named nor held is swept some time later. Rejects with HubError `STORAGE_FULL`. */
  put(content: Buffer, hold?: Hold): Promise<FileRef>;
  /** The same for a stream, which never lies in memory as a whole. Rejects with {@link BlobTooLarge} as soon as more
   *  than `maxBytes` have come; what the stream rejects with, this rejects with. Then nothing is kept. */
  store(content: AsyncIterable<Buffer>, maxBytes: number, hold?: Hold): Promise<FileRef>;
  /** The same, and no clear byte of it reaches the disk. */
  storeEncrypted(content: AsyncIterable<Buffer>, maxBytes: number, hold?: Hold): Promise<FileRef>;
  /** The same for a stream whose digest was announced; rejects with {@link DigestMismatch} when it differs. What came
   *  before the stream broke is kept for a while, unless it is small: then `content` may hold the bytes from `fromByte`
   *  on. Rejects with {@link WrongOffset} when they are not the next ones, with {@link TransferInProgress} while they come
   *  from somebody else. */
  receive(expected: FileRef, content: Readable, fromByte?: number, hold?: Hold): Promise<void>;
  /** How many bytes are kept of a content that is not whole yet. */
  receivedBytes(digest: string): Promise<number>;
  /** In the form that the reference names, or with a digest alone in whichever it lies in. Rejects when it has another size
   *  than the reference says, and when an encrypted one cannot be read with the key of this hub, or is damaged. Without a
   *  hold, there are some seconds to open it. */
  find(content: string | FileRef, hold?: Hold): Promise<StoredFile | undefined>;
  /** Removes what has lost its last name and is not held; resolves when that is done. Never rejects: what could not be
   *  removed is tried again. */
  reclaim(): Promise<void>;
  /** Removes contents that are neither named nor held and that are older than `ageMs`: what a crash has left, and what
   *  agents sent and never reported. Gives how many. */
  sweep(ageMs: number): Promise<number>;
}

/** A reference that has gone. */
export interface DroppedBlob extends BlobForm {
  /** Grows with every one. */
  readonly id: number;
}

/** Small contents beside the tasks, and which contents are still named by a task or in the storage. Implemented by the
 *  task store's database. */
export interface InlineBlobs {
  put(digest: string, content: Buffer, storedAtMs: number): Promise<void>;
  find(digest: string): Promise<Buffer | undefined>;
  /** Removes small contents stored before this moment that nothing names and nobody holds. One that seems to come from the
   *  future was stored now. */
  sweep(storedBeforeMs: number, nowMs: number, isHeld: (digest: string) => boolean): Promise<number>;
  /** Which of these digests are named, of contents that lie encrypted or of others. */
  named(digests: readonly string[], encrypted: boolean): Promise<Set<string>>;
  /** The digests of all encrypted contents that are named. */
  namedEncrypted(): Promise<string[]>;
  /** Gives those of these contents that nobody holds in the moment of the step and nothing names, once it is durable that
   *  nothing does; the small ones among them are removed in the same step. And those that are held. */
  removeUnnamed(
    contents: readonly BlobForm[],
    isHeld: (content: BlobForm) => boolean,
  ): Promise<{ readonly unnamed: readonly BlobForm[]; readonly held: readonly BlobForm[] }>;
  /** The references that have gone and are not forgotten, in their order, after this one. */
  dropped(afterId: number, limit: number): Promise<DroppedBlob[]>;
  forgetDropped(ids: readonly number[]): Promise<void>;
}
