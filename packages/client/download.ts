/** Files from the hub to the disk, over cut connections. */
import { createHash, type Hash, randomUUID } from 'node:crypto';
import { type FileHandle, link, mkdir, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { pause, SILENCE_MS, withinSilence } from './connection.js';
import { UnreachableError } from './errors.js';

/** Cuts in a row, without a byte between them, after which a transfer fails. */
const MAX_VAIN_TRIES = 5;
const RETRY_DELAY_MS = 300;

/** A file of the hub. */
export interface Source {
  readonly name: string;
  /** SHA-256 in hexadecimal; that of the entity tag by default. */
  readonly digest?: string;
  /** Content from this byte on, if it still has this entity tag; all of it otherwise. */
  open(from: number, tag: string | undefined): Promise<Response>;
}

export interface DownloadOptions {
  /** Replaces a file of this name; otherwise the download rejects with the code EEXIST. */
  readonly overwrite: boolean;
  /** Called with the bytes so far as they arrive, and their total if it is known. */
  readonly onBytes?: ((bytes: number, totalBytes: number | undefined) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Longest time without a byte, after which the connection counts as cut; a minute by default. */
  readonly silenceMs?: number;
}

/**
 * Saves a file under `target`, where it appears when all of it was received and its digest is right. A transfer that is cut goes
 * on where it was; one that fails leaves nothing.
 */
export async function download(source: Source, target: string, options: DownloadOptions): Promise<void> {
  const folder = path.dirname(target);
  await mkdir(folder, { recursive: true });
  // A name of its own: that of the file may be as long as names can be.
  const partial = path.join(folder, `.${randomUUID()}.partial`);
  try {
    const file = await open(partial, 'wx');
    const transfer = new Transfer(source, file, target, options);
    try {
      await transfer.run();
    } finally {
      await file.close();
    }
    if (!transfer.isWhole) throw new Error(`${source.name} was damaged on its way; try again`);
    await (options.overwrite ? rename : renameNew)(partial, target);
  } finally {
    await rm(partial, { force: true });
  }
}

/** Renames a file unless one of the new name exists: that rejects with EEXIST. */
async function renameNew(from: string, to: string): Promise<void> {
  try {
    // Unlike a rename, a link replaces no file.
    await link(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw error;
    // Some file systems have no links, such as FAT and many shares: there, the name is taken first.
    await (await open(to, 'wx')).close();
    try {
      await rename(from, to);
    } catch (failure) {
      await rm(to, { force: true });
      throw failure;
    }
  }
}

class Transfer {
  readonly #source: Source;
  readonly #file: FileHandle;
  readonly #target: string;
  readonly #onBytes: DownloadOptions['onBytes'];
  readonly #signal: AbortSignal | undefined;
  readonly #silenceMs: number;
  #digest: Hash = createHash('sha256');
  #bytes = 0;
  #tag: string | undefined;

  constructor(
    source: Source,
    file: FileHandle,
    target: string,
    { onBytes, signal, silenceMs = SILENCE_MS }: DownloadOptions,
  ) {
    this.#source = source;
    this.#file = file;
    this.#target = target;
    this.#onBytes = onBytes;
    this.#signal = signal;
    this.#silenceMs = silenceMs;
  }

  /** Whether the digest is right; true where none is known. */
  get isWhole(): boolean {
    const expected = this.#source.digest ?? /^"([0-9a-f]{64})"$/.exec(this.#tag ?? '')?.[1];
    return expected === undefined || this.#digest.copy().digest('hex') === expected;
  }

  /** Receives all bytes. Rejects when it is cut too often without a byte between. */
  async run(): Promise<void> {
    for (let vain = 0; ; vain++) {
      const before = this.#bytes;
      try {
        return await this.#receive();
      } catch (error) {
        this.#signal?.throwIfAborted();
        if (this.#bytes > before) vain = 0;
        if (!(error instanceof CutError) || vain >= MAX_VAIN_TRIES) throw error;
      }
      await pause(RETRY_DELAY_MS, this.#signal);
    }
  }

  async #receive(): Promise<void> {
    const response = await this.#source.open(this.#bytes, this.#tag);
    if (response.status !== 206 && this.#bytes > 0) {
      // The file has changed, or the server knows no ranges.
      await this.#file.truncate(0);
      this.#bytes = 0;
      this.#digest = createHash('sha256');
    }
    this.#tag = response.headers.get('etag') ?? this.#tag;
    const length = response.headers.get('content-length');
    const total = length === null ? undefined : this.#bytes + Number(length);
    const reader = response.body?.getReader();
    const next = () => withinSilence(reader?.read(), this.#source.name, this.#silenceMs);
    for (;;) {
      const { done, value } = (await next().catch(async (error: unknown) => {
        // A connection that is silent ends when it is left.
        await reader?.cancel().catch(() => undefined);
        return cut(error);
      })) ?? { done: true, value: undefined };
      if (done) break;
      await this.#write(value);
      this.#onBytes?.(this.#bytes, total);
    }
    if (total !== undefined && this.#bytes < total) cut(new Error('the connection ended early'));
  }

  async #write(bytes: Uint8Array): Promise<void> {
    try {
      await this.#file.write(bytes, 0, bytes.length, this.#bytes);
    } catch (error) {
      throw new Error(`${this.#target} cannot be written: ${(error as Error).message}`, { cause: error });
    }
    this.#digest.update(bytes);
    this.#bytes += bytes.length;
  }
}

/** The connection broke while the body was on its way. */
class CutError extends UnreachableError {}

function cut(error: unknown): never {
  throw new CutError(`the connection broke: ${(error as Error).message}`, { cause: error });
}
