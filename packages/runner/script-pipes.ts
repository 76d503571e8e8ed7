/**
 * Where a script's standard output and error go. What `spawn` calls a pipe is a socket on POSIX systems, and a socket
 * cannot be opened by name: `tee /dev/stderr` in a shell script, or a solver's log set to /dev/stdout, would fail. Node
 * cannot make a real pipe; `mkfifo` can, and once both ends are open its name is removed.
 */
import { execFile } from 'node:child_process';
import { constants, openSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';

export interface ScriptPipe {
  readable: Readable;
  /** To be given to the script, and closed here once it has it. */
  writeFd: number;
}

/** As many pipes as there are names; undefined where there are none to be had: `spawn` then makes its own. */
export async function openPipes(names: string[]): Promise<ScriptPipe[] | undefined> {
  if (process.platform === 'win32') return undefined;
  const folder = await mkdtemp(join(tmpdir(), 'workbench-runner-'));
  try {
    const paths = names.map((name) => join(folder, name));
    await promisify(execFile)('mkfifo', ['-m', '600', ...paths]);
    return paths.map(openPipe);
  } catch (error) {
    // A system without mkfifo, a container that holds little else than Node say.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  } finally {
    await rm(folder, { recursive: true });
  }
}

function openPipe(path: string): ScriptPipe {
  // Opening one end waits for the other, unless it is the reading end and does not block.
  const readFd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writeFd = openSync(path, constants.O_WRONLY);
  return { readable: new Socket({ fd: readFd, readable: true, writable: false }), writeFd };
}
