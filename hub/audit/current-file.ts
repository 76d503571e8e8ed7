/** The file of the audit log that is being written. */
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { currentFileOf, currentNumber, fullFileOf, fullFilesIn } from './audit-folder.js';

export interface CurrentFileOptions {
  readonly folder: string;
  /** A file that has this size is full; null: whoever else writes it sees to that. */
  readonly maxFileBytes: number | null;
  /** How many full files are kept. */
  readonly keepFiles: number;
}

/** How far an append came. */
export interface Appended {
  /** So many of the lines are whole in the file. */
  readonly lines: number;
  /** Why not all of them are. */
  readonly error: unknown;
}

const NEW_LINE = 0x0a;

export class CurrentFile {
  readonly #options: CurrentFileOptions;
  #handle: FileHandle | undefined;
  /** Its size after the last write; another means that somebody else wrote, or it is unknown. */
  #sizeBytes = -1;

  constructor(options: CurrentFileOptions) {
    this.#options = options;
  }

  /** Makes what is not there, readable by this user only. */
  async open(): Promise<FileHandle> {
    if (this.#handle === undefined) {
      const { folder } = this.#options;
      await mkdir(folder, { recursive: true, mode: 0o700 });
      this.#handle = await open(currentFileOf(folder), 'a+', 0o600);
    }
    return this.#handle;
  }

  /** Each line has its end. A last line that was cut short, by a crash or a full disk, is ended first. */
  async append(lines: readonly Buffer[]): Promise<Appended> {
    let lineEnds = 0;
    let written = 0;
    try {
      const { handle, sizeBytes } = await this.#openWithRoom();
      const isMidLine =
        sizeBytes > 0 && sizeBytes !== this.#sizeBytes && (await lastByteOf(handle, sizeBytes)) !== NEW_LINE;
      this.#sizeBytes = -1;
      if (isMidLine) await handle.write('\n');
      const bytes = Buffer.concat(lines);
      while (written < bytes.length) written += (await handle.write(bytes, written)).bytesWritten;
      this.#sizeBytes = sizeBytes + (isMidLine ? 1 : 0) + bytes.length;
      return { lines: lines.length, error: undefined };
    } catch (error) {
      const whole = lines.filter(({ length }) => {
        lineEnds += length;
        return lineEnds <= written;
      });
      return { lines: whole.length, error };
    }
  }

  async sync(): Promise<void> {
    await this.#handle?.datasync();
  }

  async close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  }

  async #openWithRoom(): Promise<{ handle: FileHandle; sizeBytes: number }> {
    const handle = await this.open();
    const { size, nlink } = await handle.stat();
    const { maxFileBytes } = this.#options;
    const isRemoved = nlink === 0;
    if (!isRemoved && (maxFileBytes === null || size < maxFileBytes)) return { handle, sizeBytes: size };
    if (!isRemoved) await this.#putFullFileAway();
    await this.close();
    return this.#openWithRoom();
  }

  async #putFullFileAway(): Promise<void> {
    const { folder, keepFiles } = this.#options;
    const full = await fullFilesIn(folder);
    await this.sync();
    await rename(currentFileOf(folder), fullFileOf(folder, currentNumber(full)).path);
    const tooMany = Math.max(full.length + 1 - keepFiles, 0);
    for (const { path } of full.slice(0, tooMany)) await rm(path, { force: true });
  }
}

async function lastByteOf(handle: FileHandle, sizeBytes: number): Promise<number | undefined> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(1), 0, 1, sizeBytes - 1);
  return bytesRead === 0 ? undefined : buffer[0];
}
