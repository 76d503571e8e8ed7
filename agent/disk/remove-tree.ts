/** Removes a tree without following links, even if a job removed permissions, made it deeper than a path may be long, or still
 *  changes it. */
import { randomUUID } from 'node:crypto';
import type { Dirent } from 'node:fs';
import { codeOf, type Directory, type Name } from './directory.js';

/** Depth from which a folder is first moved to the top, since each level holds a handle. */
const DEEPEST = 32;
/** Number of entries that are held while they are removed. */
const ENTRIES_AT_A_TIME = 1024;
/** Maximum number of files that are removed concurrently. */
const FILES_AT_A_TIME = 16;
/** Maximum number of tries against a tree that changes. */
const TRIES = 5;
/** Maximum number of passes; each shortens the tree by {@link DEEPEST} levels. */
const PASSES = 10_000;

/** Removes an entry of a directory with its contents, if it exists. Rejects with the system's error when something is left. */
export async function removeTree(parent: Directory, name: Name): Promise<void> {
  let triesLeft = TRIES;
  for (let pass = 1; ; pass++) {
    const obstacle = await removeInOnePass(parent, name);
    if (!obstacle) return;
    const { error, isToBeRepeated } = obstacle;
    if (!isToBeRepeated) triesLeft--;
    if (!isOfAChange(error) || triesLeft === 0 || pass === PASSES) throw error;
  }
}

/** Cause for which a pass ended before everything was removed. */
interface Obstacle {
  readonly error: unknown;
  /** True when the pass has shortened the tree, and another one goes on with it. */
  readonly isToBeRepeated: boolean;
}

/** Undefined when nothing is left. Rejects with the error of an entry that cannot be removed. */
async function removeInOnePass(parent: Directory, name: Name): Promise<Obstacle | undefined> {
  let removal: Removal | undefined;
  try {
    const directory = opened(parent, name);
    if (directory === undefined) return undefined;
    if (directory === 'NO_DIRECTORY') {
      await removeFile(parent, name);
      return undefined;
    }
    removal = new Removal(directory);
    await removal.emptyTop();
    await parent.removeDirectory(name);
    return undefined;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    if (removal?.fault !== undefined) throw removal.fault;
    return { error, isToBeRepeated: removal?.isToBeRepeated ?? false };
  }
}

class Removal {
  /** Error of the first entry that could not be removed. */
  fault: unknown;
  /** True when a folder was moved to the top. */
  isToBeRepeated = false;
  readonly #top: Directory;

  constructor(top: Directory) {
    this.#top = top;
  }

  /** Empties the top, and closes it. */
  async emptyTop(): Promise<void> {
    try {
      await this.#empty(this.#top, 0);
    } finally {
      this.#top.close();
    }
  }

  /** Never rejects. */
  async #empty(directory: Directory, depth: number): Promise<void> {
    let some: Dirent<Buffer>[] = [];
    try {
      const { entries } = await directory.list();
      for await (const entry of entries) {
        if (some.push(entry) < ENTRIES_AT_A_TIME) continue;
        await this.#removeAll(directory, some, depth);
        some = [];
      }
    } catch (error) {
      this.#failed(error);
      return;
    }
    await this.#removeAll(directory, some, depth);
  }

  /** Never rejects. */
  async #removeAll(directory: Directory, entries: readonly Dirent<Buffer>[], depth: number): Promise<void> {
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
        // A name that a job cannot guess.
        await parent.rename(name, this.#top, `${randomUUID()}.removed`);
        this.isToBeRepeated = true;
        return;
      }
      await this.#empty(directory, depth);
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

  /** The next pass finds entries that change meanwhile. */
  #failed(error: unknown): void {
    if (!isOfAChange(error)) this.fault ??= error;
  }
}

/** Whether an error may be caused by a concurrent change of the tree. */
function isOfAChange(error: unknown): boolean {
  const code = codeOf(error) ?? '';
  return ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENOTEMPTY', 'EEXIST', 'EISDIR', 'ESTALE'].includes(code);
}

/** Undefined when it does not exist. */
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
