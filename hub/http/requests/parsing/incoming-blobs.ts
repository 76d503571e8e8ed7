/** Blobs that arrive as Base64 in a JSON body too large to be held: each goes into the blob store as it arrives, and a
 *  {@link StoredBlob} takes its place. */
import { invalidInput } from '../../../core/errors.js';
import { type BlobStore, BlobTooLarge, type Hold } from '../../../core/ports/blobs.js';
import { Base64Decoder } from './base64.js';
import { type FileLimits, fileTooLarge, NOT_BASE64, StoredBlob, tooManyFiles } from './body-blob.js';

/** Size of writes to the disk: each one costs a switch to a thread. */
const WRITE_BYTES = 512 * 1024;

/** Limit of blobs that are being written at once. */
const MAX_PENDING = 16;

export interface IncomingBlobsOptions {
  readonly files: BlobStore;
  readonly limits: FileLimits;
  /** Keeps stored blobs, however long the body takes to arrive. */
  readonly hold: Hold;
}

/** The blobs of one body, one after the other: `begin`, `push`, `end`. */
export class IncomingBlobs {
  readonly #options: IncomingBlobsOptions;
  readonly #pending = new Set<Promise<unknown>>();
  #count = 0;
  #current:
    | { readonly where: string; readonly decoder: Base64Decoder; readonly queue: ChunkQueue }
    | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(options: IncomingBlobsOptions) {
    this.#options = options;
  }

  /** Whether a blob has begun and not ended. */
  get isOpen(): boolean {
    return this.#current !== undefined;
  }

  /** `where` is the field, for messages. Throws INVALID_INPUT. */
  begin(where: string): StoredBlob {
    const { files, limits, hold } = this.#options;
    const { maxFileBytes, maxFiles } = limits;
    this.#count++;
    if (this.#count > maxFiles) throw invalidInput([tooManyFiles('inputScripts, additionalFiles', maxFiles)]);
    const queue = new ChunkQueue();
    this.#current = { where, decoder: new Base64Decoder(), queue };
    const ref = files.store(queue, maxFileBytes, hold).catch((error: unknown) => {
      throw error instanceof BlobTooLarge ? fileTooLarge(where, maxFileBytes) : error;
    });
    const done = ref
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => this.#pending.delete(done));
    this.#pending.add(done);
    return new StoredBlob(ref);
  }

  /** Takes characters of the open blob, as bytes. Throws INVALID_INPUT. */
  push(characters: Buffer): void {
    const { where, decoder, queue } = this.#opened();
    const content = decoder.push(characters);
    if (!content) throw invalidInput([{ where, what: NOT_BASE64 }]);
    queue.push(content);
  }

  /** Ends the open blob. Throws INVALID_INPUT. */
  end(): void {
    const { where, decoder, queue } = this.#opened();
    if (!decoder.isWhole) throw invalidInput([{ where, what: NOT_BASE64 }]);
    queue.end();
    this.#current = undefined;
  }

  /** Resolves when the disk has kept up. Rejects with the error of any of the blobs. */
  async keepUp(): Promise<void> {
    await this.#current?.queue.drained();
    while (this.#pending.size > MAX_PENDING) await Promise.race(this.#pending);
    this.#throwFailure();
  }

  /** Resolves when all blobs are stored. Rejects as `keepUp`. */
  async finish(): Promise<void> {
    await Promise.all(this.#pending);
    this.#throwFailure();
  }

  /** The body has failed: resolves when nothing half-written is left. Blobs that were stored are removed with their hold,
   *  unless something refers to them. */
  async abandon(): Promise<void> {
    this.#current?.queue.fail(new Error('the body was aborted'));
    await Promise.all(this.#pending);
  }

  #opened() {
    if (!this.#current) throw new Error('no blob has begun');
    return this.#current;
  }

  #throwFailure(): void {
    if (this.#failure) throw this.#failure.error;
  }
}

/** Chunks on their way from a body to the disk, combined into larger ones. */
class ChunkQueue implements AsyncIterable<Buffer> {
  #small: Buffer[] = [];
  #smallBytes = 0;
  readonly #ready: Buffer[] = [];
  #ended = false;
  #failure: { readonly error: unknown } | undefined;
  #wakeReader: () => void = () => undefined;
  #wakeWriter: () => void = () => undefined;
  #hasReaderLeft = false;

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#small.push(chunk);
    this.#smallBytes += chunk.length;
    if (this.#smallBytes >= WRITE_BYTES) this.#combine();
  }

  end(): void {
    this.#combine();
    this.#ended = true;
    this.#wakeReader();
  }

  fail(error: unknown): void {
    this.#failure = { error };
    this.#wakeReader();
  }

  /** Resolves when nothing waits for the reader, or the reader has left. */
  async drained(): Promise<void> {
    while (this.#ready.length > 0 && !this.#hasReaderLeft) {
      await new Promise<void>((resolve) => {
        this.#wakeWriter = resolve;
      });
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void> {
    try {
      for (;;) {
        if (this.#failure) throw this.#failure.error;
        const chunk = this.#ready.shift();
        if (chunk) {
          this.#wakeWriter();
          yield chunk;
        } else if (this.#ended) return;
        else
          await new Promise<void>((resolve) => {
            this.#wakeReader = resolve;
          });
      }
    } finally {
      this.#hasReaderLeft = true;
      this.#wakeWriter();
    }
  }

  #combine(): void {
    if (this.#smallBytes > 0) this.#ready.push(Buffer.concat(this.#small));
    this.#small = [];
    this.#smallBytes = 0;
    this.#wakeReader();
  }
}
