/**
 * Where a script's standard output and error go. What `spawn` calls a pipe is a socket on POSIX systems, and a socket
 * cannot be opened by name: `tee /dev/stderr` in a shell script, or a solver's log set to /dev/stdout, would fail. Node
 * cannot make a real pipe; `mkfifo` can, and once it is open its name is removed. Linux opens a pipe again without a
 * name, so that there a pipe serves one script after the other: a process less for each of them.
 */
import { execFile } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';

const READING = constants.O_RDONLY | constants.O_NONBLOCK;
const IS_REOPENED = process.platform === 'linux';

export interface ScriptPipe {
  readonly readable: Readable;
  /** To be given to the script, and closed here once it has it. */
  readonly writeFd: number;
  /** To be called when nothing is read from it any more. */
  release(): void;
}

/** The pipes of the scripts that run one after the other. */
export class ScriptPipes {
  /** A reading end of each that waits for its next script, which keeps it in being. */
  readonly #waiting: number[] = [];

  /** As many as are asked for; undefined where there are none to be had: `spawn` then makes its own. */
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
      // A system without mkfifo, a container that holds little else than Node say.
      const isMissing = code === 'ENOENT' && syscall?.startsWith('spawn');
      if (!isMissing) console.error(`workbench-runner: no pipes could be made for a script: ${message}`);
      return undefined;
    } finally {
      // What cannot be removed is next to nothing, and no reason to do without the script.
      if (folder !== undefined) await rm(folder, { recursive: true, force: true }).catch(() => undefined);
    }
  }

  #open(path: string): ScriptPipe {
    // Opening one end waits for the other, unless it is the reading end and does not block.
    const readFd = openSync(path, READING);
    if (IS_REOPENED) return this.#reopen(readFd);
    return { readable: read(readFd), writeFd: openSync(path, constants.O_WRONLY), release: () => undefined };
  }

  #reopen(fd: number): ScriptPipe {
    const path = `/proc/self/fd/${fd}`;
    // The writing end first: where nobody writes, there is nothing but the end to be read.
    const writeFd = openSync(path, constants.O_WRONLY);
    const readable = read(openSync(path, READING));
    const release = () => {
      // Only its end shows that nobody holds it for writing, who would print into the next script's output.
      if (readable.readableEnded) this.#waiting.push(fd);
      else closeSync(fd);
    };
    return { readable, writeFd, release };
  }
}

function read(fd: number): Readable {
  return new Socket({ fd, readable: true, writable: false });
}
