/** Directories that are prepared before their attempt is known, `work/prepared-<random>/`, with the folders in which the job
 *  may write. A program in a sandbox sees no other. */
import { mkdirSync, mkdtempSync, realpathSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { PreparedDirectory } from '../core/ports/workspace.js';
import { CHECKPOINT, FILES, OUTPUT_STORAGE } from './attempt-directory.js';

/** Folder of scripts and variables; in an ordinary directory they lie beside the others. */
export const GIVEN = 'given';

/** Directories prepared by this process, with a function that takes each once. */
const takes = new WeakMap<PreparedDirectory, () => boolean>();

/** Prepares a directory below `root`, which is created if missing. Throws the system's error. Synchronous, since a program is
 *  started immediately. */
export function prepareDirectory(root: string): PreparedDirectory {
  mkdirSync(root, { recursive: true });
  // Programs get the path without links.
  const path = mkdtempSync(join(realpathSync.native(root), 'prepared-'));
  const writable = [FILES, OUTPUT_STORAGE, CHECKPOINT, GIVEN].map((name) => join(path, name));
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

/** Takes a prepared directory for an attempt; false when it is taken or gone. */
export function takePrepared(directory: PreparedDirectory): boolean {
  return takes.get(directory)?.() ?? false;
}
