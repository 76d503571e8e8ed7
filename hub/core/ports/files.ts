/** Contents of files, each kept once under its SHA-256. */
import type { Readable } from 'node:stream';
import type { FileRef } from '@workbench-hub/shared/domain/job';

/** The content that came is not the one that was announced. */
export class DigestMismatch extends Error {
  override readonly name = 'DigestMismatch';
}

/** A content has more bytes than it may have. */
export class ContentTooLarge extends Error {
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
export class ContentUnderWay extends Error {
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

export interface FileStore {
  /** Keeps a content. It is safe as soon as a task that names it is: a later durable commit of the task store covers
   *  it. A content that no task names is swept after an hour. Rejects with HubError `STORAGE_FULL`. */
  put(content: Buffer): Promise<FileRef>;
  /** The same for a stream, which never lies in memory as a whole. Rejects with {@link ContentTooLarge} as soon as more
   *  than `maxBytes` have come; what the stream rejects with, this rejects with. Then nothing is kept. */
  store(content: AsyncIterable<Buffer>, maxBytes: number): Promise<FileRef>;
  /** The same, and no clear byte of it reaches the disk. */
  storeEncrypted(content: AsyncIterable<Buffer>, maxBytes: number): Promise<FileRef>;
  /** The same for a stream whose digest was announced; rejects with {@link DigestMismatch} when it differs. What came
   *  before the stream broke is kept for a while, unless it is small: then `content` may hold the bytes from `fromByte`
   *  on. Rejects with {@link WrongOffset} when they are not the next ones, with {@link ContentUnderWay} while they come
   *  from somebody else. */
  receive(expected: FileRef, content: Readable, fromByte?: number): Promise<void>;
  /** How many bytes are kept of a content that is not whole yet. */
  receivedBytes(digest: string): Promise<number>;
  /** In the form that the reference names, or with a digest alone in whichever it lies in. Rejects when it has another size
   *  than the reference says, and when an encrypted one cannot be read with the key of this hub, or is damaged. */
  find(content: string | FileRef): Promise<StoredFile | undefined>;
  /** Gives a content that nothing names yet another hour; false when there is none with this digest. */
  renew(digest: string): Promise<boolean>;
  /** Removes contents that neither a task nor the storage names and that are older than `ageMs`; gives how many. */
  sweep(ageMs: number): Promise<number>;
}

/** Small contents beside the tasks, and which contents are still named by a task or in the storage. Implemented by the
 *  task store's database. */
export interface SmallFiles {
  put(digest: string, content: Buffer, storedAtMs: number): Promise<void>;
  find(digest: string): Promise<Buffer | undefined>;
  /** Removes small contents stored before this moment that nothing names. */
  sweep(storedBeforeMs: number): Promise<number>;
  /** Which of these digests are named, of contents that lie encrypted or of others. */
  named(digests: readonly string[], encrypted: boolean): Promise<Set<string>>;
}
