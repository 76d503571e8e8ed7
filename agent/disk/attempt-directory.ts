/** Directory of one attempt. Each operation uses an open handle, so that none follows a link, whatever jobs do in it. */
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { hasNoRoom } from '../core/host-fault.js';
import type { FileState } from '../core/outputs.js';
import type { WorkingDirectory } from '../core/ports/workspace.js';
import { collect, collectWhole } from './collect.js';
import { codeOf, type Directory, type OpenDirectory, systemError } from './directory.js';
import type { DiskCache } from './disk-cache.js';
import { isGone, listFiles } from './list-files.js';
import { openLocalFile } from './local-file.js';
import { removeTree } from './remove-tree.js';

export const FILES = 'files';
export const OUTPUT_STORAGE = 'output-storage';
export const CHECKPOINT = 'checkpoint';
/** Marks a directory that is kept for inspection. */
export const KEPT_MARK = '.kept';

const VARIABLES = 'variables.json';

const PROBE = '.probe';
/** Content of the probe: the smallest amount that a script is expected to write. */
const PROBE_CONTENT = Buffer.alloc(64 * 1024, 'x');

/** Mode of files that are given to a job. */
const FILE_MODE = 0o644;

/** Time before its creation at which a staged file was changed last: any write of the job changes it, also one within the same tick of the
 *  file system's clock. */
const CHANGED_BEFORE_MS = 2000;

/** Location of the directory; its handles are held until it is kept or discarded. */
export interface DirectoryLocation {
  readonly above: Directory;
  readonly name: string;
  readonly directory: Directory;
  readonly path: string;
  /** Folder of scripts and variables: the directory itself, or one in it. */
  readonly given: { readonly directory: Directory; readonly path: string };
  /** Creates the name under which it is kept; null when it already has it. */
  readonly keepAs: (() => Promise<string>) | null;
  readonly cache: DiskCache;
  readonly open: OpenDirectory;
}

export class AttemptDirectory implements WorkingDirectory {
  readonly files: string;
  readonly outputStorage: string;
  readonly checkpoint: string;
  readonly variables: string;
  readonly #place: DirectoryLocation;
  /** Names of the files beside the working directory. */
  readonly #beside: string[] = [];
  readonly #staged = new Map<string, FileState>();
  /** Paths of staged files in the working directory. */
  readonly #placed: string[] = [];

  constructor(place: DirectoryLocation) {
    this.#place = place;
    this.files = join(place.path, FILES);
    this.outputStorage = join(place.path, OUTPUT_STORAGE);
    this.checkpoint = join(place.path, CHECKPOINT);
    this.variables = join(place.given.path, VARIABLES);
  }

  placeFile(path: string, digest: string): Promise<string> {
    return this.#placeInFiles(path, this.#place.cache.pathOf(digest));
  }

  placeCheckpoint(path: string, digest: string): Promise<void> {
    return this.#placeIn(CHECKPOINT, path, this.#place.cache.pathOf(digest));
  }

  async placeScript(index: number, digest: string, ending: string): Promise<string> {
    const { given, cache } = this.#place;
    const name = `script-${index + 1}${ending}`;
    this.#beside.push(name);
    await this.#copy(given.directory, name, cache.pathOf(digest));
    return join(given.path, name);
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
    await this.#place.given.directory.writeFile(VARIABLES, 0o600, JSON.stringify(values));
  }

  async seal(): Promise<void> {
    if (this.#placed.length === 0) return;
    const files = this.#folder(FILES);
    if (files === undefined) throw changed(FILES);
    try {
      for await (const { path, state } of listFiles(files, () => undefined))
        this.#staged.set(path.toString('latin1'), state);
    } finally {
      files.close();
    }
  }

  async collect(...[into, options]: Parameters<WorkingDirectory['collect']>) {
    const files = this.#folder(FILES);
    const outputStorage = this.#folder(OUTPUT_STORAGE);
    try {
      return await collect({ files, outputStorage }, this.#staged, into, options);
    } finally {
      files?.close();
      outputStorage?.close();
    }
  }

  async clearCheckpoint(): Promise<void> {
    const checkpoint = this.#folder(CHECKPOINT);
    if (checkpoint === undefined) return;
    try {
      for await (const { name } of (await checkpoint.list()).entries) await removeTree(checkpoint, name);
    } finally {
      checkpoint.close();
    }
  }

  async collectCheckpoint(...[into, options]: Parameters<WorkingDirectory['collectCheckpoint']>) {
    const checkpoint = this.#folder(CHECKPOINT);
    try {
      return checkpoint === undefined ? [] : await collectWhole(checkpoint, into, options);
    } finally {
      checkpoint?.close();
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
    const { above, name, directory, keepAs } = this.#place;
    try {
      await markAsKept(directory);
      if (keepAs !== null) await above.rename(name, above, await keepAs());
    } finally {
      this.#close();
    }
  }

  async discard(): Promise<void> {
    const { above, name, keepAs } = this.#place;
    try {
      if (keepAs !== null) return await removeTree(above, name);
      if (!(await this.#removeStaged())) await removeTree(above, name);
    } finally {
      this.#close();
    }
  }

  /** Removes the directory if it holds no more than what was staged; false when it is still there. */
  async #removeStaged(): Promise<boolean> {
    const { above, name, directory } = this.#place;
    if (this.#placed.some((path) => path.includes('/'))) return false;
    const files = this.#folder(FILES);
    if (files === undefined) return false;
    try {
      const removed = await Promise.allSettled([
        ...this.#placed.map((path) => files.unlink(path)),
        directory.removeDirectory(OUTPUT_STORAGE),
        directory.removeDirectory(CHECKPOINT),
        ...this.#beside.map((file) => directory.unlink(file)),
      ]);
      if (removed.some(({ status }) => status === 'rejected')) return false;
      // A removed directory that is open costs the file system more.
      files.close();
      await directory.removeDirectory(FILES);
      directory.close();
      await above.removeDirectory(name);
      return true;
    } catch {
      return false;
    } finally {
      files.close();
    }
  }

  #close(): void {
    const { above, directory, given } = this.#place;
    if (given.directory !== directory) given.directory.close();
    directory.close();
    above.close();
  }

  /** Undefined when a job removed or replaced the folder. */
  #folder(name: string): Directory | undefined {
    try {
      return this.#place.directory.openDirectory(name);
    } catch (error) {
      if (isGone(error)) return undefined;
      throw error;
    }
  }

  async #placeInFiles(path: string, source: string | FileHandle): Promise<string> {
    this.#placed.push(path);
    await this.#placeIn(FILES, path, source);
    return join(this.files, path);
  }

  async #placeIn(top: string, path: string, source: string | FileHandle): Promise<void> {
    const names = [top, ...path.split('/')];
    const name = names.pop() as string;
    const folder = await this.#makeFolder(names, path);
    try {
      await this.#copy(folder, name, source, FILE_MODE);
      const { mtimeMs } = await folder.stat(name);
      await folder.setModified(name, Number(mtimeMs) - CHANGED_BEFORE_MS);
    } finally {
      folder.close();
    }
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

/** Another process changed it: this job has not begun. */
function changed(path: string): Error {
  return systemError('ESTALE', `${path} was changed in the working directory while it was staged`);
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
    // Another file of the job is in the same folder.
    if (codeOf(error) !== 'EEXIST') throw error;
  }
  return above.openDirectory(name);
}

async function markAsKept(directory: Directory): Promise<void> {
  try {
    const mark = await directory.createFile(KEPT_MARK, 0o600);
    await mark.close();
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}
