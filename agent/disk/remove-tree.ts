/** Removes a tree without following a link, also when a job took away rights, made it deeper than a path may be long, or
 *  goes on changing it meanwhile. */
import { randomUUID } from 'node:crypto';
import type { Dirent } from 'node:fs';
import { codeOf, type Directory, type Name } from './directory.js';

/** Depth from which a folder is moved to the top first, since a handle is held for each level. */
const DEEPEST = 32;
/** Maximum number of files that are removed at a time. */
const FILES_AT_A_TIME = 16;
/** How often a directory may have got something new by the time that it is removed. */
const TRIES = 5;
/** Each brings the tree to its end by {@link DEEPEST} levels. */
const PASSES = 10_000;

/** Removes an entry of a directory with all that is beneath it; it need not be there. Rejects with what the system says when
 *  something is left. */
export async function removeTree(parent: Directory, name: Name): Promise<void> {
  let triesLeft = TRIES;
  for (let pass = 1; ; pass++) {
    let removal: Removal | undefined;
    try {
      const directory = opened(parent, name);
      if (directory === undefined) return;
      if (directory === 'NO_DIRECTORY') return await removeFile(parent, name);
      try {
        removal = new Removal(directory);
        await removal.empty(directory, 0);
      } finally {
        directory.close();
      }
      return await parent.removeDirectory(name);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return;
      if (removal?.fault !== undefined) throw removal.fault;
      if (!removal?.isToBeRepeated) triesLeft--;
      if (!isOfAChange(error) || triesLeft === 0 || pass === PASSES) throw error;
    }
  }
}

class Removal {
  /** The first that could not be removed. */
  fault: unknown;
  /** Something was moved to the top. */
  isToBeRepeated = false;
  readonly #top: Directory;

  constructor(top: Directory) {
    this.#top = top;
  }

  /** Never rejects. */
  async empty(directory: Directory, depth: number): Promise<void> {
    let entries: readonly Dirent<Buffer>[];
    try {
      ({ entries } = await directory.list());
    } catch (error) {
      this.#failed(error);
      return;
    }
    const files = entries.filter((entry) => !entry.isDirectory());
    for (let at = 0; at < files.length; at += FILES_AT_A_TIME) {
      const some = files.slice(at, at + FILES_AT_A_TIME);
      await Promise.all(some.map(({ name }) => this.#attempt(() => removeFile(directory, name))));
    }
    for (const { name } of entries.filter((entry) => entry.isDirectory())) {
      await this.#attempt(() => this.#removeFolder(directory, name, depth + 1));
    }
  }

  async #removeFolder(parent: Directory, name: Buffer, depth: number): Promise<void> {
    const directory = opened(parent, name);
    if (directory === undefined || directory === 'NO_DIRECTORY') return;
    try {
      if (depth >= DEEPEST) {
        await directory.unlock();
        // No name that a job could have known.
        await parent.rename(name, this.#top, `${randomUUID()}.removed`);
        this.isToBeRepeated = true;
        return;
      }
      await this.empty(directory, depth);
    } finally {
      directory.close();
    }
    await parent.removeDirectory(name);
  }

  async #attempt(step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Entries that change meanwhile are met again by the next pass. */
  #failed(error: unknown): void {
    if (!isOfAChange(error)) this.fault ??= error;
  }
}

/** Whether an error may come of somebody who changes the tree meanwhile. */
function isOfAChange(error: unknown): boolean {
  const code = codeOf(error) ?? '';
  return ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENOTEMPTY', 'EEXIST', 'EISDIR', 'ESTALE'].includes(code);
}

/** Undefined when there is nothing. */
function opened(parent: Directory, name: Name): Directory | 'NO_DIRECTORY' | undefined {
  try {
    return parent.openDirectory(name);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT') return undefined;
    if (code === 'ENOTDIR' || code === 'ELOOP') return 'NO_DIRECTORY';
    throw error;
  }
}

async function removeFile(parent: Directory, name: Name): Promise<void> {
  try {
    await parent.unlink(name);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}
