/**
 * The directories of attempts, `work/<taskId>-<attempt>/`:
 *
 *   files/            the working directory: additional files, the model, and what scripts make
 *   script-1 ...      the scripts
 *   output-storage/   WORKBENCH_OUTPUT_STORAGE
 *   variables.json    WORKBENCH_VARIABLES
 *   .kept             marks one that stays for people to look into
 */
import { constants, realpathSync, writeFileSync } from 'node:fs';
import { access, type FileHandle, mkdir, realpath, stat, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve, sep } from 'node:path';
import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import type { DiskRoom } from '../core/disk-room.js';
import { hasNoRoom } from '../core/host-fault.js';
import { liesIn } from '../core/local-model.js';
import type { FileState } from '../core/outputs.js';
import { FileNotReadable, type WorkingDirectory, type Workspace } from '../core/ports/workspace.js';
import { collect } from './collect.js';
import { codeOf, type Directory, type OpenDirectory, systemError } from './directory.js';
import type { DiskCache } from './disk-cache.js';
import { filesOf, isGone } from './files-of.js';
import { makeFreshDirectory } from './fresh-directory.js';
import { openDirectory } from './open-directory.js';
import { removeTree } from './remove-tree.js';

const FILES = 'files';
const OUTPUT_STORAGE = 'output-storage';
const VARIABLES = 'variables.json';
const KEPT_MARK = '.kept';

const PROBE = '.probe';
/** As much as a script may want to write at least. */
const PROBE_CONTENT = Buffer.alloc(64 * 1024, 'x');

/** The rights of files that are given to a job. */
const FILE_MODE = 0o644;

/** Opens the workspace in `root` and removes what earlier attempts left behind. Whatever jobs do in it, no step follows a
 *  link: each goes by a handle of `open`. */
export async function openWorkspace(
  root: string,
  cache: DiskCache,
  open: OpenDirectory = openDirectory,
): Promise<Workspace> {
  await mkdir(root, { recursive: true });
  const top = open(root);
  try {
    for (const { name } of (await top.list()).entries) {
      if (!(await isKept(top, name))) await removeTree(top, name);
    }
  } finally {
    top.close();
  }
  return {
    create: async (ref: AttemptRef) => {
      const name = await makeFreshDirectory(root, ref);
      const above = open(root);
      try {
        const directory = above.openDirectory(name);
        try {
          await Promise.all([FILES, OUTPUT_STORAGE].map((folder) => directory.makeDirectory(folder)));
          const path = join(realpathSync.native(root), name);
          return new AttemptDirectory({ above, name, directory, path, cache, open });
        } catch (error) {
          directory.close();
          throw error;
        }
      } catch (error) {
        await removeTree(above, name).catch(() => undefined);
        above.close();
        throw error;
      }
    },
    resolve: resolveFile,
    resolveFolders: async (paths) => {
      const resolved = await Promise.all(paths.map((path) => realpath(path).catch(() => undefined)));
      return resolved.filter((path) => path !== undefined);
    },
    rooms: () => Promise.all([roomOf(root, 'working directories'), roomOf(tmpdir(), 'temporary files')]),
  };
}

interface Place {
  /** Where it lies; held open, as it is itself, until it is kept or discarded. */
  readonly above: Directory;
  readonly name: string;
  readonly directory: Directory;
  readonly path: string;
  readonly cache: DiskCache;
  readonly open: OpenDirectory;
}

class AttemptDirectory implements WorkingDirectory {
  readonly files: string;
  readonly outputStorage: string;
  readonly variables: string;
  readonly #place: Place;
  /** What the job found beside its working directory. */
  readonly #beside: string[] = [];
  readonly #staged = new Map<string, FileState>();
  /** Whether anything lies in it before the job begins. */
  #isPlaced = false;

  constructor(place: Place) {
    this.#place = place;
    this.files = join(place.path, FILES);
    this.outputStorage = join(place.path, OUTPUT_STORAGE);
    this.variables = join(place.path, VARIABLES);
  }

  placeFile(path: string, digest: string): Promise<string> {
    return this.#placeInFiles(path, this.#place.cache.pathOf(digest));
  }

  async placeScript(index: number, digest: string): Promise<string> {
    const { directory, path, cache } = this.#place;
    const name = `script-${index + 1}`;
    this.#beside.push(name);
    await this.#copy(directory, name, cache.pathOf(digest));
    return join(path, name);
  }

  async placeLocalFile(path: string, source: string, root: string): Promise<string> {
    const file = await openLocalFile(this.#place.open, source, root);
    try {
      return await this.#placeInFiles(path, file);
    } finally {
      await file.close();
    }
  }

  async writeVariables(values: Readonly<Record<string, string>>): Promise<void> {
    this.#beside.push(VARIABLES);
    // Only to make the file may take long: what is written into it is copied into the memory of the system.
    const file = await this.#place.directory.createFile(VARIABLES, 0o600);
    try {
      writeFileSync(file.fd, JSON.stringify(values));
    } finally {
      await file.close();
    }
  }

  async seal(): Promise<void> {
    if (!this.#isPlaced) return;
    const files = this.#folder(FILES);
    if (files === undefined) throw changed(FILES);
    try {
      for await (const { path, state } of filesOf(files, () => undefined))
        this.#staged.set(path.toString('latin1'), state);
    } finally {
      files.close();
    }
  }

  async collect(...[into, options, signal]: Parameters<WorkingDirectory['collect']>) {
    const files = this.#folder(FILES);
    const outputStorage = this.#folder(OUTPUT_STORAGE);
    try {
      return await collect({ files, outputStorage }, this.#staged, into, options, signal);
    } finally {
      files?.close();
      outputStorage?.close();
    }
  }

  async takesMore(): Promise<boolean> {
    const { directory } = this.#place;
    try {
      const file = await directory.createFile(PROBE, 0o600);
      try {
        await file.writeFile(PROBE_CONTENT);
      } finally {
        await file.close();
        await directory.unlink(PROBE);
      }
      return true;
    } catch (error) {
      return !hasNoRoom(error);
    }
  }

  async keep(): Promise<void> {
    const { directory } = this.#place;
    try {
      const mark = await directory.createFile(KEPT_MARK, 0o600);
      await mark.close();
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    } finally {
      this.#close();
    }
  }

  async discard(): Promise<void> {
    const { above, name, directory } = this.#place;
    try {
      const removed = await Promise.allSettled([
        ...[FILES, OUTPUT_STORAGE].map((folder) => directory.removeDirectory(folder)),
        ...this.#beside.map((file) => directory.unlink(file)),
      ]);
      try {
        if (removed.every(({ status }) => status === 'fulfilled')) return await above.removeDirectory(name);
      } catch {
        // It holds more than what was put there.
      }
      await removeTree(above, name);
    } finally {
      this.#close();
    }
  }

  #close(): void {
    this.#place.directory.close();
    this.#place.above.close();
  }

  /** Undefined when a job removed the folder, or put something else in its place. */
  #folder(name: string): Directory | undefined {
    try {
      return this.#place.directory.openDirectory(name);
    } catch (error) {
      if (isGone(error)) return undefined;
      throw error;
    }
  }

  async #placeInFiles(path: string, source: string | FileHandle): Promise<string> {
    this.#isPlaced = true;
    const names = [FILES, ...path.split('/')];
    const name = names.pop() as string;
    const folder = await this.#makeFolder(names, path);
    try {
      await this.#copy(folder, name, source, FILE_MODE);
    } finally {
      folder.close();
    }
    return join(this.files, path);
  }

  async #makeFolder(names: readonly string[], path: string): Promise<Directory> {
    let folder = this.#place.directory;
    for (const name of names) {
      const above = folder;
      try {
        folder = await openOrMake(above, name);
      } catch (error) {
        throw isGone(error) ? changed(path) : error;
      } finally {
        if (above !== this.#place.directory) above.close();
      }
    }
    return folder;
  }

  async #copy(folder: Directory, name: string, source: string | FileHandle, mode?: number): Promise<void> {
    for (;;) {
      try {
        await folder.copyFile(name, source, mode);
        return;
      } catch (error) {
        if (codeOf(error) !== 'ENOSPC' || !(await this.#place.cache.makeRoom())) throw error;
      }
    }
  }
}

/** It was another's process: this job has not begun. */
function changed(path: string): Error {
  return systemError('ESTALE', `${path} was changed in the working directory while it was laid out`);
}

async function openOrMake(above: Directory, name: string): Promise<Directory> {
  try {
    return above.openDirectory(name);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
  try {
    await above.makeDirectory(name);
  } catch (error) {
    // Another file of the job lies in it, too.
    if (codeOf(error) !== 'EEXIST') throw error;
  }
  return above.openDirectory(name);
}

/** Opens a file in a folder from which the agent may read, and follows no link beneath that folder. */
async function openLocalFile(open: OpenDirectory, source: string, root: string): Promise<FileHandle> {
  if (!liesIn(source, root)) throw new FileNotReadable('it does not lie in that folder');
  const names = source
    .slice(root.length)
    .split(sep)
    .filter((name) => name !== '');
  const name = names.pop() as string;
  let folder = open(root);
  try {
    for (const next of names) {
      const above = folder;
      folder = above.openDirectory(next);
      above.close();
    }
    const file = await folder.openFile(name);
    if ((await file.stat()).isFile()) return file;
    await file.close();
    throw new FileNotReadable('it is not a file');
  } catch (error) {
    throw isGone(error) ? new FileNotReadable('it was changed while it was read', { cause: error }) : error;
  } finally {
    folder.close();
  }
}

async function roomOf(path: string, use: string): Promise<DiskRoom> {
  const { bsize, bavail, blocks, files, ffree } = await statfs(path);
  const freeFiles = files > 0 ? ffree : null;
  return { use, freeBytes: bsize * bavail, sizeBytes: bsize * blocks, freeFiles };
}

async function isKept(root: Directory, name: Buffer): Promise<boolean> {
  let directory: Directory | undefined;
  try {
    directory = root.openDirectory(name);
    await directory.stat(KEPT_MARK);
    return true;
  } catch {
    return false;
  } finally {
    directory?.close();
  }
}

async function resolveFile(path: string): Promise<string> {
  try {
    const real = await realpath(resolve(path));
    if (!(await stat(real)).isFile()) throw new FileNotReadable('it is not a file');
    await access(real, constants.R_OK);
    return real;
  } catch (error) {
    if (error instanceof FileNotReadable) throw error;
    const { code } = error as NodeJS.ErrnoException;
    const why =
      code === 'ENOENT' || code === 'ENOTDIR' ? 'there is no such file' : `it cannot be read (${code})`;
    throw new FileNotReadable(why, { cause: error });
  }
}
