/**
 * Pipes for a script's standard output and error. The "pipe" of `spawn` is a socket on POSIX systems, and a socket
 * cannot be opened by name: `tee /dev/stderr` in a shell script, or a solver's log set to /dev/stdout, would fail. Node
 * cannot make a real pipe; `mkfifo` can, and once it is open its name is removed. Linux opens a pipe again without a
 * name, so that there a pipe serves one script after the other: a process less for each of them.
 */
import { execFile } from 'node:child_process';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';

const READING = constants.O_RDONLY | constants.O_NONBLOCK;
const IS_REOPENED = process.platform === 'linux';

/** Shared read buffer, as large as a pipe. */
const piece = Buffer.allocUnsafeSlow(64 * 1024);

/** Pipes of scripts that run one after the other. */
export class ScriptPipes {
  /** Idle pipes. */
  readonly #waiting: number[] = [];

  /** Opens pipes; undefined where that is impossible: `spawn` then creates its own. */
  async open(count: number): Promise<ScriptPipe[] | undefined> {
    if (this.#waiting.length >= count) return this.#waiting.splice(-count).map((fd) => this.#reopen(fd));
    if (process.platform === 'win32') return undefined;
    let folder: string | undefined;
    try {
      folder = await mkdtemp(join(tmpdir(), 'workbench-runner-'));
      const paths = Array.from({ length: count }, (_, index) => join(folder as string, `${index}`));
      await promisify(execFile)('mkfifo', ['-m', '600', ...paths]);
      return paths.map((path) => this.#open(path));
    } catch (error) {
      const { code, syscall, message } = error as NodeJS.ErrnoException;
      // A system without mkfifo, such as a minimal container.
      const isMissing = code === 'ENOENT' && syscall?.startsWith('spawn');
      if (!isMissing) console.error(`workbench-runner: no pipes could be made for a script: ${message}`);
      return undefined;
    } finally {
      // A tiny leftover, and no reason to fail.
      if (folder !== undefined) await rm(folder, { recursive: true, force: true }).catch(() => undefined);
    }
  }

  #open(path: string): ScriptPipe {
    // Opening one end blocks until the other is opened, except the reading end in non-blocking mode.
    const fd = openSync(path, READING);
    if (IS_REOPENED) return this.#reopen(fd);
    return new ScriptPipe(fd, openSync(path, constants.O_WRONLY), closeSync);
  }

  #reopen(fd: number): ScriptPipe {
    const writeFd = openSync(nameOf(fd), constants.O_WRONLY);
    return new ScriptPipe(fd, writeFd, (ended) => this.#waiting.push(ended));
  }
}

export class ScriptPipe {
  /** Passed to the script, and closed here afterwards. */
  readonly writeFd: number;
  readonly #fd: number;
  readonly #onEnded: (fd: number) => void;
  #isEnded = false;
  #readable: Readable | undefined;

  /** `onEnded` gets `fd` when the pipe is released and no process can write into it any more. */
  constructor(fd: number, writeFd: number, onEnded: (fd: number) => void) {
    this.#fd = fd;
    this.writeFd = writeFd;
    this.#onEnded = onEnded;
  }

  /** Buffered output, valid until the next call; undefined when there is none. */
  readNow(): Buffer | undefined {
    try {
      const length = readSync(this.#fd, piece);
      if (length > 0) return piece.subarray(0, length);
      // Only this shows that no process can write any more.
      this.#isEnded = true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    }
    return undefined;
  }

  /** Whether {@link readNow} has reached the end. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Stream of further output. */
  stream(): Readable {
    // A socket closes its descriptor.
    const fd = IS_REOPENED ? openSync(nameOf(this.#fd), READING) : this.#fd;
    this.#readable = new Socket({ fd, readable: true, writable: false });
    return this.#readable;
  }

  /** Releases the pipe when reading is finished. */
  release(): void {
    if (this.#readable && !IS_REOPENED) this.#readable.destroy();
    // A process that can still write would print into the next script's output.
    else if (this.#isEnded || this.#readable?.readableEnded) this.#onEnded(this.#fd);
    else closeSync(this.#fd);
  }
}

function nameOf(fd: number): string {
  return `/proc/self/fd/${fd}`;
}
