/** A file of JSON lines that is only added to. What is written in one turn of the event loop goes to disk in one write;
 *  it is there when the process ends, whatever ends it, but not necessarily after a loss of power. */
import { fstatSync, writeSync } from 'node:fs';
import { type FileHandle, mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { PRIVATE_FOLDER_MODE } from '@workbench-hub/shared/runtime/private-files';
import type { Runtime, Timer } from '@workbench-hub/shared/runtime/runtime';

/** Lines that go to disk in one write, and who waits for it. */
interface Batch {
  readonly lines: string[];
  readonly written: Promise<void>;
  resolve(): void;
  reject(error: unknown): void;
}

/** How long a line that has time waits at most for another one. */
const IN_TIME_MS = 100;

/** After a write that failed, how long until the next try. */
const RETRY_MS = 5000;

export class Journal {
  readonly #path: string;
  readonly #runtime: Runtime;
  /** Gives the lines that stand for everything that still counts. */
  readonly #snapshot: () => string[];
  readonly #compactAtBytes: number;
  #file: FileHandle | undefined;
  #sizeBytes = 0;
  #compactedBytes = 0;
  #batch: Batch | undefined;
  #writing: Promise<void> | undefined;
  #inTime: Timer | undefined;
  /** A write failed, and may have left half a line. */
  #torn = false;
  /** The file lacks lines whose writing failed: it has to be written anew. */
  #incomplete = false;
  #retry: Timer | undefined;

  constructor(path: string, runtime: Runtime, snapshot: () => string[], compactAtBytes: number) {
    this.#path = path;
    this.#runtime = runtime;
    this.#snapshot = snapshot;
    this.#compactAtBytes = compactAtBytes;
  }

  /** The lines that an earlier process wrote; what follows the last line's end was not written whole. A line before it
   *  may be half a one, if the disk was full. */
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

  /** Begins a new file from the snapshot. */
  async open(): Promise<void> {
    await this.#compact();
  }

  append(line: string): Promise<void> {
    const appended = this.#queue(line);
    this.#writeSoon();
    return appended;
  }

  /** The same for a line that may be lost with the process: it is written with the next one, or after a moment. */
  appendLazily(line: string): Promise<void> {
    const appended = this.#queue(line);
    if (this.#writing === undefined) {
      this.#inTime ??= this.#runtime.timers.after(IN_TIME_MS, () => this.#writeSoon());
    }
    return appended;
  }

  /** Writes what waits and closes the file. */
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
    this.#inTime?.cancel();
    this.#inTime = undefined;
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

  /** Makes up for the lines that could not be written. Never rejects. */
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
      // Somebody took it away: what is written to it would be lost with this process.
      if (this.#file && fstatSync(this.#file.fd).nlink === 0) await this.#compact();
      const bytes = Buffer.from(`${this.#torn ? '\n' : ''}${lines.join('\n')}\n`);
      // Without a sync it is a copy into the memory of the system: to wake another thread for it would cost more.
      if (this.#file) writeWhole(this.#file.fd, bytes);
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

  /** Writes the snapshot to a new file, which takes the place of the old one at once. */
  async #compact(): Promise<void> {
    const lines = this.#snapshot();
    const text = lines.length === 0 ? '' : `${lines.join('\n')}\n`;
    const fresh = `${this.#path}.new`;
    await mkdir(dirname(this.#path), { recursive: true, mode: PRIVATE_FOLDER_MODE });
    const file = await open(fresh, 'w', 0o600);
    try {
      await file.appendFile(text);
      await rename(fresh, this.#path);
    } catch (error) {
      await file.close();
      await rm(fresh, { force: true });
      throw error;
    }
    await this.#file?.close();
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
