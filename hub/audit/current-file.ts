/** The file of a series that is being written. */
import { type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { type AuditSeries, currentFileOf, currentNumber, fullFileOf, fullFilesIn } from './audit-folder.js';

export interface CurrentFileOptions {
  readonly folder: string;
  readonly series: AuditSeries;
  /** Size at which a file is full; null when another process rotates it. */
  readonly maxFileBytes: number | null;
  /** Number of full files kept. */
  readonly keepFiles: number;
  /** Called when a file is removed for newer ones, with the time of its last write. */
  readonly removed?: (path: string, writtenAtMs: number) => void;
}

/** Result of an append. */
export interface Appended {
  /** Number of lines written completely. */
  readonly lines: number;
  /** Error that prevented the rest. */
  readonly error: unknown;
}

const NEW_LINE = 0x0a;

export class CurrentFile {
  readonly #options: CurrentFileOptions;
  #handle: FileHandle | undefined;
  /** Size after the last write; another size means that another process wrote, or it is unknown. */
  #sizeBytes = -1;

  constructor(options: CurrentFileOptions) {
    this.#options = options;
  }

  /** Creates a missing folder and file with private permissions. */
  async open(): Promise<FileHandle> {
    if (this.#handle === undefined) {
      const { folder, series } = this.#options;
      await mkdir(folder, { recursive: true, mode: 0o700 });
      this.#handle = await open(currentFileOf(folder, series), 'a+', 0o600);
    }
    return this.#handle;
  }

  /** Appends lines with their line ends. A last line that was cut off by a crash or a full disk is ended first. */
  async append(lines: readonly Buffer[]): Promise<Appended> {
    let whole = 0;
    try {
      while (whole < lines.length) {
        const [first, ...others] = lines.slice(whole) as [Buffer, ...Buffer[]];
        const { handle, sizeBytes } = await this.#openWithRoom(first.length);
        const fitting = [first, ...this.#fittingInto(sizeBytes + first.length, others)];
        const written = await this.#write(handle, sizeBytes, fitting);
        whole += written.lines;
        if (written.error !== undefined) return { lines: whole, error: written.error };
      }
      return { lines: whole, error: undefined };
    } catch (error) {
      return { lines: whole, error };
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

  #fittingInto(sizeBytes: number, lines: readonly Buffer[]): readonly Buffer[] {
    const { maxFileBytes } = this.#options;
    if (maxFileBytes === null) return lines;
    let room = maxFileBytes - sizeBytes - 1;
    const tooMany = lines.findIndex(({ length }) => {
      room -= length;
      return room < 0;
    });
    return tooMany === -1 ? lines : lines.slice(0, tooMany);
  }

  async #write(handle: FileHandle, sizeBytes: number, lines: readonly Buffer[]): Promise<Appended> {
    let written = 0;
    try {
      const isMidLine =
        sizeBytes > 0 && sizeBytes !== this.#sizeBytes && (await lastByteOf(handle, sizeBytes)) !== NEW_LINE;
      this.#sizeBytes = -1;
      if (isMidLine) await handle.write('\n');
      const bytes = Buffer.concat(lines);
      while (written < bytes.length) written += (await handle.write(bytes, written)).bytesWritten;
      this.#sizeBytes = sizeBytes + (isMidLine ? 1 : 0) + bytes.length;
      return { lines: lines.length, error: undefined };
    } catch (error) {
      let lineEnds = 0;
      const whole = lines.filter(({ length }) => {
        lineEnds += length;
        return lineEnds <= written;
      });
      return { lines: whole.length, error };
    }
  }

  async #openWithRoom(lineBytes: number): Promise<{ handle: FileHandle; sizeBytes: number }> {
    const handle = await this.open();
    const { size, nlink } = await handle.stat();
    const { maxFileBytes } = this.#options;
    const isRemoved = nlink === 0;
    // One more byte may be needed to end a truncated line.
    const hasRoom = maxFileBytes === null || size === 0 || size + lineBytes + 1 <= maxFileBytes;
    if (!isRemoved && hasRoom) return { handle, sizeBytes: size };
    if (!isRemoved) await this.#putFullFileAway();
    await this.close();
    return this.#openWithRoom(lineBytes);
  }

  async #putFullFileAway(): Promise<void> {
    const { folder, series, keepFiles, removed } = this.#options;
    const full = await fullFilesIn(folder, series);
    await this.sync();
    await rename(currentFileOf(folder, series), fullFileOf(folder, series, currentNumber(full)).path);
    const tooMany = Math.max(full.length + 1 - keepFiles, 0);
    for (const { path } of full.slice(0, tooMany)) {
      const { mtimeMs } = await stat(path);
      await rm(path, { force: true });
      removed?.(path, mtimeMs);
    }
  }
}

async function lastByteOf(handle: FileHandle, sizeBytes: number): Promise<number | undefined> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(1), 0, 1, sizeBytes - 1);
  return bytesRead === 0 ? undefined : buffer[0];
}
