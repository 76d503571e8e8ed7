/** Append-only file of JSON lines. Lines of one turn of the event loop are written together; they survive the end of the
 *  process, but not necessarily a power failure. */
import { fstatSync, writeSync } from 'node:fs';
import { type FileHandle, mkdir, open, readFile, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { PRIVATE_FOLDER_MODE } from '@workbench-hub/shared/runtime/private-files';
import { replaceFile } from '@workbench-hub/shared/runtime/replace-file';
import type { Runtime, Timer } from '@workbench-hub/shared/runtime/runtime';

/** Lines that are written together. */
interface Batch {
  readonly lines: string[];
  readonly written: Promise<void>;
  resolve(): void;
  reject(error: unknown): void;
}

/** Maximum buffering of a non-urgent line. */
const LAZY_FLUSH_MS = 100;

/** Delay before the next try after a failed write. */
const RETRY_MS = 5000;

export class Journal {
  readonly #path: string;
  readonly #runtime: Runtime;
  /** Returns the lines of everything that still counts. */
  readonly #snapshot: () => string[];
  readonly #compactAtBytes: number;
  #file: FileHandle | undefined;
  #sizeBytes = 0;
  #compactedBytes = 0;
  #batch: Batch | undefined;
  #writing: Promise<void> | undefined;
  #lazyFlush: Timer | undefined;
  /** True when a failed write may have left half a line. */
  #torn = false;
  /** True when lines are missing after a failed write: the file must be compacted. */
  #incomplete = false;
  #retry: Timer | undefined;

  constructor(path: string, runtime: Runtime, snapshot: () => string[], compactAtBytes: number) {
    this.#path = path;
    this.#runtime = runtime;
    this.#snapshot = snapshot;
    this.#compactAtBytes = compactAtBytes;
  }

  /** Lines of an earlier process, without an incomplete last line. An earlier line may be incomplete, if the disk was full. */
  static async read(path: string): Promise<string[]> {
    let text: string;
    try {
      text = await readFile(path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      return [];
    }
    return text
      .slice(0, text.lastIndexOf('\n') + 1)
      .split('\n')
      .slice(0, -1);
  }

  /** Starts a new file from the snapshot. */
  async open(): Promise<void> {
    await this.#compact();
  }

  append(line: string): Promise<void> {
    const appended = this.#queue(line);
    this.#writeSoon();
    return appended;
  }

  /** Appends a line that may be lost with the process: it is written with the next one, or after {@link LAZY_FLUSH_MS}. */
  appendLazily(line: string): Promise<void> {
    const appended = this.#queue(line);
    if (this.#writing === undefined) {
      this.#lazyFlush ??= this.#runtime.timers.after(LAZY_FLUSH_MS, () => this.#writeSoon());
    }
    return appended;
  }

  /** Writes pending lines and closes the file. */
  async close(): Promise<void> {
    this.#writeSoon();
    await this.#writing;
    this.#retry?.cancel();
    try {
      await this.#compact();
    } finally {
      await this.#file?.close();
      this.#file = undefined;
    }
  }

  #queue(line: string): Promise<void> {
    this.#batch ??= newBatch();
    this.#batch.lines.push(line);
    return this.#batch.written;
  }

  #writeSoon(): void {
    this.#lazyFlush?.cancel();
    this.#lazyFlush = undefined;
    if (this.#writing !== undefined) return;
    this.#writing = new Promise((written) => {
      this.#runtime.timers.soon(() => void this.#writeAll().then(written));
    });
  }

  async #writeAll(): Promise<void> {
    do {
      if (this.#incomplete) await this.#writeAnew();
      if (this.#batch) await this.#write(this.#batch);
    } while (this.#batch);
    this.#writing = undefined;
  }

  /** Compacts after a failed write. Never rejects. */
  async #writeAnew(): Promise<void> {
    try {
      await this.#compact();
    } catch {
      this.#retryLater();
    }
  }

  #retryLater(): void {
    this.#retry?.cancel();
    this.#retry = this.#runtime.timers.after(RETRY_MS, () => this.#writeSoon());
  }

  async #write({ lines, resolve, reject }: Batch): Promise<void> {
    this.#batch = undefined;
    try {
      // The file was removed: further writes would be lost with this process.
      if (fstatSync(this.#open().fd).nlink === 0) await this.#compact();
      const bytes = Buffer.from(`${this.#torn ? '\n' : ''}${lines.join('\n')}\n`);
      // Without a sync this is a copy into the page cache: another thread would cost more.
      writeWhole(this.#open().fd, bytes);
      this.#torn = false;
      this.#sizeBytes += bytes.length;
      const tooLong = this.#sizeBytes > Math.max(this.#compactAtBytes, this.#compactedBytes * 4);
      if (tooLong) await this.#compact();
      resolve();
    } catch (error) {
      this.#torn = this.#incomplete = true;
      this.#retryLater();
      reject(error);
    }
  }

  #open(): FileHandle {
    if (this.#file === undefined) throw new Error('the journal is not open');
    return this.#file;
  }

  /** Writes the snapshot to a new file and renames it over the old one, which is closed first: Windows replaces no open file. */
  async #compact(): Promise<void> {
    const lines = this.#snapshot();
    const text = lines.length === 0 ? '' : `${lines.join('\n')}\n`;
    const fresh = `${this.#path}.new`;
    await mkdir(dirname(this.#path), { recursive: true, mode: PRIVATE_FOLDER_MODE });
    const file = await open(fresh, 'w', 0o600);
    try {
      await file.appendFile(text);
      await this.#file?.close();
      this.#file = undefined;
      await replaceFile(fresh, this.#path);
    } catch (error) {
      this.#file ??= await open(this.#path, 'a', 0o600).catch(() => undefined);
      await file.close();
      await rm(fresh, { force: true });
      throw error;
    }
    this.#file = file;
    this.#torn = this.#incomplete = false;
    this.#compactedBytes = this.#sizeBytes = Buffer.byteLength(text);
  }
}

function newBatch(): Batch {
  let resolve!: () => void;
  let reject!: (error: unknown) => void;
  const written = new Promise<void>((onWritten, onFault) => {
    resolve = onWritten;
    reject = onFault;
  });
  return { lines: [], written, resolve, reject };
}

function writeWhole(fd: number, bytes: Buffer): void {
  for (let written = 0; written < bytes.length; ) written += writeSync(fd, bytes, written);
}
