/** Directories that are prepared before their attempt is known, `work/prepared-<random>/` with the folders in which the job
 *  may write. A program in a sandbox sees no other. */
import { mkdirSync, mkdtempSync, realpathSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { PreparedDirectory } from '../core/ports/workspace.js';
import { FILES, OUTPUT_STORAGE } from './attempt-directory.js';

/** Scripts and variables; in an ordinary directory they lie beside the two others. */
export const GIVEN = 'given';

/** The directories that this process has prepared, with the function that takes each once. */
const takes = new WeakMap<PreparedDirectory, () => boolean>();

/** Prepares a directory below `root`, which is made again if it is gone. Throws the system's error. Synchronous, since a
 *  program is started at once. */
export function prepareDirectory(root: string): PreparedDirectory {
  mkdirSync(root, { recursive: true });
  // Programs are told the path without links.
  const path = mkdtempSync(join(realpathSync.native(root), 'prepared-'));
  const writable = [FILES, OUTPUT_STORAGE, GIVEN].map((name) => join(path, name));
  for (const folder of writable) mkdirSync(folder);
  let isFree = true;
  const take = () => {
    const wasFree = isFree;
    isFree = false;
    return wasFree;
  };
  const directory: PreparedDirectory = {
    path,
    writable,
    abandon: async () => {
      // A directory that cannot be removed now is removed at the next start.
      if (take()) await rm(path, { recursive: true, force: true }).catch(() => undefined);
    },
  };
  takes.set(directory, take);
  return directory;
}

/** Takes a prepared directory for an attempt; false when it is taken already, or gone. */
export function takePrepared(directory: PreparedDirectory): boolean {
  return takes.get(directory)?.() ?? false;
}
