/** The log file of a program: appended to, reopened after another program has renamed it, and rotated if so configured. */
import { type FileHandle, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import type { LogTarget } from './log-sink.js';
import { PRIVATE_FILE_MODE, PRIVATE_FOLDER_MODE } from './private-files.js';
import type { Clock } from './runtime.js';

/** The file `hub.log` becomes `hub-000001.log` when it is full; the number of a full file is permanent. */
export interface LogRotation {
  /** Size at which a file is full. */
  readonly maxFileBytes: number;
  /** Period that a file covers, counted from 1970-01-01 UTC; null for no end by time. */
  readonly everyMs: number | null;
  /** Number of full files kept. */
  readonly keepFiles: number;
}

export interface LogFileSettings {
  /** A missing folder is created. */
  readonly path: string;
  /** Null: the file grows until another program rotates it. */
  readonly rotation: LogRotation | null;
}

export interface LogFileOptions {
  readonly clock: Clock;
  /** Called when the file cannot be rotated; it is written to nevertheless. */
  readonly onRotationFailed: (error: unknown) => void;
}

/** Time from a failed rotation to the next try. */
const RETRY_AFTER_MS = 60_000;

const LINE_END = 0x0a;

export class LogFile implements LogTarget {
  readonly #options: LogFileOptions;
  #settings: LogFileSettings;
  #handle: FileHandle;
  #retryAtMs = 0;
  /** End of the latest operation; operations run one after the other. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor(settings: LogFileSettings, handle: FileHandle, options: LogFileOptions) {
    this.#settings = settings;
    this.#handle = handle;
    this.#options = options;
  }

  /** Rejects as `mkdir` and `open` do. */
  static async open(settings: LogFileSettings, options: LogFileOptions): Promise<LogFile> {
    const file = new LogFile(settings, await openToAppend(settings.path), options);
    await file.#removeOldFiles().catch(() => undefined);
    return file;
  }

  get path(): string {
    return this.#settings.path;
  }

  /** Appends whole lines; rejects as `write` does. */
  append(lines: Buffer): Promise<void> {
    return this.#inTurn(() =>
      this.#settings.rotation === null ? this.#write(lines) : this.#writeOrRotate(lines),
    );
  }

  /** Opens the file of these settings, which may be another one. Rejects as `mkdir` and `open` do, and then keeps the former
   *  file and settings. */
  reopen(settings: LogFileSettings): Promise<void> {
    return this.#inTurn(async () => {
      const former = this.#handle;
      this.#handle = await openToAppend(settings.path);
      this.#settings = settings;
      this.#retryAtMs = 0;
      await former.close().catch(() => undefined);
      await this.#removeOldFiles().catch(() => undefined);
    });
  }

  close(): Promise<void> {
    return this.#inTurn(() => this.#handle.close());
  }

  #inTurn(operation: () => Promise<void>): Promise<void> {
    const turn = this.#last.then(operation);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #write(bytes: Buffer): Promise<void> {
    for (let written = 0; written < bytes.length; ) {
      written += (await this.#handle.write(bytes, written)).bytesWritten;
    }
  }

  async #writeOrRotate(lines: Buffer): Promise<void> {
    let rest = lines;
    while (rest.length > 0) {
      const roomBytes = await this.#room(rest);
      const now = roomBytes >= rest.length ? rest : wholeLines(rest, roomBytes);
      await this.#write(now);
      rest = rest.subarray(now.length);
    }
  }

  /** Room for the next lines in the current file, or in a new one if the current one is full. */
  async #room(lines: Buffer): Promise<number> {
    const { rotation } = this.#settings;
    const info = await this.#handle.stat();
    if (rotation === null || !info.isFile()) return lines.length;
    const nowMs = this.#options.clock.nowMs();
    const { maxFileBytes, everyMs } = rotation;
    const isOfEarlierPeriod =
      everyMs !== null && Math.floor(info.mtimeMs / everyMs) < Math.floor(nowMs / everyMs);
    const isTooLong = info.size + wholeLines(lines, 1).length > maxFileBytes;
    const isFull = info.size > 0 && (isOfEarlierPeriod || isTooLong);
    const isRemoved = info.nlink === 0;
    if (!isFull && !isRemoved) return maxFileBytes - info.size;
    if (nowMs < this.#retryAtMs) return lines.length;
    try {
      await this.#rotate();
      return maxFileBytes;
    } catch (error) {
      this.#retryAtMs = nowMs + RETRY_AFTER_MS;
      this.#options.onRotationFailed(error);
      return lines.length;
    }
  }

  /** Begins a new file; when that fails, the current one keeps its name. */
  async #rotate(): Promise<void> {
    const { path } = this.#settings;
    const last = (await fullFilesOf(path)).at(-1)?.number ?? 0;
    const full = fullFileOf(path, last + 1);
    const isRenamed = await renameIfPresent(path, full);
    const former = this.#handle;
    try {
      this.#handle = await openToAppend(path);
    } catch (error) {
      if (isRenamed) await rename(full, path);
      throw error;
    }
    await former.close().catch(() => undefined);
    await this.#removeOldFiles();
  }

  async #removeOldFiles(): Promise<void> {
    const { path, rotation } = this.#settings;
    if (rotation === null) return;
    for (const old of (await fullFilesOf(path)).slice(0, -rotation.keepFiles)) {
      await rm(fullFileOf(path, old.number), { force: true });
    }
  }
}

/** Lines that fit into `roomBytes`, at least one. */
function wholeLines(lines: Buffer, roomBytes: number): Buffer {
  const lastFitting = roomBytes > 0 ? lines.lastIndexOf(LINE_END, roomBytes - 1) : -1;
  const end = lastFitting >= 0 ? lastFitting : lines.indexOf(LINE_END);
  return end < 0 ? lines : lines.subarray(0, end + 1);
}

/** False when another program has renamed or removed the file. */
async function renameIfPresent(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

async function openToAppend(path: string): Promise<FileHandle> {
  await mkdir(dirname(path), { recursive: true, mode: PRIVATE_FOLDER_MODE });
  return open(path, 'a', PRIVATE_FILE_MODE);
}

interface FullFile {
  readonly number: number;
}

/** Full files, oldest first. */
async function fullFilesOf(path: string): Promise<FullFile[]> {
  const extension = extname(path);
  const start = `${basename(path, extension)}-`;
  return (await readdir(dirname(path)))
    .filter((name) => name.startsWith(start) && name.endsWith(extension))
    .map((name) => name.slice(start.length, name.length - extension.length))
    .filter((digits) => /^\d{6,15}$/.test(digits))
    .map((digits) => ({ number: Number(digits) }))
    .sort((a, b) => a.number - b.number);
}

function fullFileOf(path: string, number: number): string {
  const extension = extname(path);
  const name = `${basename(path, extension)}-${String(number).padStart(6, '0')}${extension}`;
  return join(dirname(path), name);
}
