/** Contents that come as Base64 in a JSON body which is too large to be held: each goes into the file store while it
 *  comes, and a {@link StoredBlob} stands in its place. */
import { invalidInput } from '../../core/errors.js';
import { BlobTooLarge, type FileStore, type Hold } from '../../core/ports/files.js';
import { Base64Decoder } from './base64.js';
import { type FileLimits, fileTooLarge, NOT_BASE64, StoredBlob, tooManyFiles } from './body-blob.js';

/** The disk is written in pieces of this size: smaller ones cost a trip to a thread each. */
const PIECE_BYTES = 512 * 1024;

/** So many contents may be on their way to the disk at once. */
const MAX_UNDER_WAY = 16;

export interface IncomingContentsOptions {
  readonly files: FileStore;
  readonly limits: FileLimits;
  /** Keeps what is stored, however long the body takes to come. */
  readonly hold: Hold;
}

/** The contents of one body, one after the other: `begin`, `push`, `end`. */
export class IncomingContents {
  readonly #options: IncomingContentsOptions;
  readonly #underWay = new Set<Promise<unknown>>();
  #count = 0;
  #current:
    | { readonly where: string; readonly decoder: Base64Decoder; readonly queue: PieceQueue }
    | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(options: IncomingContentsOptions) {
    this.#options = options;
  }

  /** Whether a content has begun and not ended. */
  get isOpen(): boolean {
    return this.#current !== undefined;
  }

  /** `where` is the field, for messages. Throws INVALID_INPUT. */
  begin(where: string): StoredBlob {
    const { files, limits, hold } = this.#options;
    const { maxFileBytes, maxFiles } = limits;
    this.#count++;
    if (this.#count > maxFiles) throw invalidInput([tooManyFiles('inputScripts, additionalFiles', maxFiles)]);
    const queue = new PieceQueue();
    this.#current = { where, decoder: new Base64Decoder(), queue };
    const ref = files.store(queue, maxFileBytes, hold).catch((error: unknown) => {
      throw error instanceof BlobTooLarge ? fileTooLarge(where, maxFileBytes) : error;
    });
    const done = ref
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => this.#underWay.delete(done));
    this.#underWay.add(done);
    return new StoredBlob(ref);
  }

  /** Characters of the content that is open, as bytes. Throws INVALID_INPUT. */
  push(characters: Buffer): void {
    const { where, decoder, queue } = this.#opened();
    const content = decoder.push(characters);
    if (!content) throw invalidInput([{ where, what: NOT_BASE64 }]);
    queue.push(content);
  }

  /** The open content has come whole. Throws INVALID_INPUT. */
  end(): void {
    const { where, decoder, queue } = this.#opened();
    if (!decoder.isWhole) throw invalidInput([{ where, what: NOT_BASE64 }]);
    queue.end();
    this.#current = undefined;
  }

  /** Resolves when the disk has kept up. Rejects with what went wrong with any of the contents. */
  async keepUp(): Promise<void> {
    await this.#current?.queue.taken();
    while (this.#underWay.size > MAX_UNDER_WAY) await Promise.race(this.#underWay);
    this.#throwFailure();
  }

  /** Resolves when all contents are stored. Rejects as `keepUp`. */
  async finish(): Promise<void> {
    await Promise.all(this.#underWay);
    this.#throwFailure();
  }

  /** The body is not to be had: resolves when nothing half-written is left. What was stored whole goes with its hold, unless
   *  something names it. */
  async abandon(): Promise<void> {
    this.#current?.queue.fail(new Error('the body was given up'));
    await Promise.all(this.#underWay);
  }

  #opened() {
    if (!this.#current) throw new Error('no content has begun');
    return this.#current;
  }

  #throwFailure(): void {
    if (this.#failure) throw this.#failure.error;
  }
}

/** Pieces on their way from a body to the disk, gathered to larger ones. */
class PieceQueue implements AsyncIterable<Buffer> {
  #small: Buffer[] = [];
  #smallBytes = 0;
  readonly #ready: Buffer[] = [];
  #ended = false;
  #failure: { readonly error: unknown } | undefined;
  #wakeReader: () => void = () => undefined;
  #wakeWriter: () => void = () => undefined;
  #left = false;

  push(piece: Buffer): void {
    if (piece.length === 0) return;
    this.#small.push(piece);
    this.#smallBytes += piece.length;
    if (this.#smallBytes >= PIECE_BYTES) this.#gather();
  }

  end(): void {
    this.#gather();
    this.#ended = true;
    this.#wakeReader();
  }

  fail(error: unknown): void {
    this.#failure = { error };
    this.#wakeReader();
  }

  /** Resolves when nothing waits for the reader, or there is no reader any more. */
  async taken(): Promise<void> {
    while (this.#ready.length > 0 && !this.#left) {
      await new Promise<void>((resolve) => {
        this.#wakeWriter = resolve;
      });
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void> {
    try {
      for (;;) {
        if (this.#failure) throw this.#failure.error;
        const piece = this.#ready.shift();
        if (piece) {
          this.#wakeWriter();
          yield piece;
        } else if (this.#ended) return;
        else
          await new Promise<void>((resolve) => {
            this.#wakeReader = resolve;
          });
      }
    } finally {
      this.#left = true;
      this.#wakeWriter();
    }
  }

  #gather(): void {
    if (this.#smallBytes > 0) this.#ready.push(Buffer.concat(this.#small));
    this.#small = [];
    this.#smallBytes = 0;
    this.#wakeReader();
  }
}
