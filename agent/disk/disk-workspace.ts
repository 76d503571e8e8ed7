/**
 * The directories of attempts, `work/<taskId>-<attempt>/`:
 *
 *   files/            the working directory: additional files, the model, and the outputs of scripts
 *   script-1 ...      the scripts
 *   output-storage/   WORKBENCH_OUTPUT_STORAGE
 *   checkpoint/       WORKBENCH_CHECKPOINT
 *   variables.json    WORKBENCH_VARIABLES
 *   .kept             marks one that stays for people to look into
 *
 * The directory for a program in a sandbox is prepared before its attempt is known (prepared-directory.ts). One that is kept
 * gets the name of its attempt then.
 */
import { realpathSync } from 'node:fs';
import { mkdir, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import type { PreparedDirectory, WorkingDirectory, Workspace } from '../core/ports/workspace.js';
import { AttemptDirectory, CHECKPOINT, FILES, KEPT_MARK, OUTPUT_STORAGE } from './attempt-directory.js';
import type { Directory, OpenDirectory } from './directory.js';
import type { DiskCache } from './disk-cache.js';
import { spaceOf } from './free-space.js';
import { makeFreshDirectory } from './fresh-directory.js';
import { REMOVE_OR_REJECT, type RemoveLeftover } from './leftovers.js';
import { resolveFile } from './local-file.js';
import { openDirectory } from './open-directory.js';
import { GIVEN, prepareDirectory, takePrepared } from './prepared-directory.js';
import { removeTree } from './remove-tree.js';

export interface DiskWorkspace extends Workspace {
  /** Prepares a directory for a program in a sandbox. Throws the system's error. */
  prepare(): PreparedDirectory;
}

export interface WorkspaceOptions {
  readonly open?: OpenDirectory;
  readonly removeLeftover?: RemoveLeftover;
}

/** Opens the workspace in `root` and removes the directories of earlier attempts. */
export async function openWorkspace(
  root: string,
  cache: DiskCache,
  options: WorkspaceOptions = {},
): Promise<DiskWorkspace> {
  const open = options.open ?? openDirectory;
  const removeLeftover: RemoveLeftover = options.removeLeftover ?? REMOVE_OR_REJECT;
  await mkdir(root, { recursive: true });
  const top = open(root);
  try {
    for await (const { name } of (await top.list()).entries) {
      if (await isKept(top, name)) continue;
      await removeLeftover(join(root, name.toString()), () => removeFrom(open, root, name));
    }
  } finally {
    top.close();
  }
  const places = { root, cache, open };
  return {
    prepare: () => prepareDirectory(root),
    // A missing one went with its program, which the attempt notices.
    create: (ref, prepared = null) =>
      prepared !== null && takePrepared(prepared)
        ? inPrepared(places, prepared, ref)
        : inFreshDirectory(places, ref),
    resolve: resolveFile,
    resolveFolders: async (paths) => {
      const resolved = await Promise.all(paths.map((path) => realpath(path).catch(() => undefined)));
      return resolved.filter((path) => path !== undefined);
    },
    freeSpace: () =>
      Promise.all([spaceOf(root, 'working directories'), spaceOf(tmpdir(), 'temporary files')]),
  };
}

async function removeFrom(open: OpenDirectory, root: string, name: Buffer): Promise<void> {
  const top = open(root);
  try {
    await removeTree(top, name);
  } finally {
    top.close();
  }
}

interface Places {
  readonly root: string;
  readonly cache: DiskCache;
  readonly open: OpenDirectory;
}

async function inFreshDirectory(places: Places, ref: AttemptRef): Promise<WorkingDirectory> {
  const { root, open } = places;
  const name = await makeFreshDirectory(root, ref);
  const above = open(root);
  try {
    const directory = above.openDirectory(name);
    try {
      await Promise.all([FILES, OUTPUT_STORAGE, CHECKPOINT].map((folder) => directory.makeDirectory(folder)));
      const path = join(realpathSync.native(root), name);
      const given = { directory, path };
      return new AttemptDirectory({ ...places, above, name, directory, path, given, keepAs: null });
    } catch (error) {
      directory.close();
      throw error;
    }
  } catch (error) {
    await removeTree(above, name).catch(() => undefined);
    above.close();
    throw error;
  }
}

async function inPrepared(
  places: Places,
  { path }: PreparedDirectory,
  ref: AttemptRef,
): Promise<WorkingDirectory> {
  const { root, open } = places;
  const name = basename(path);
  const opened: Directory[] = [];
  const held = (directory: Directory) => {
    opened.push(directory);
    return directory;
  };
  try {
    const above = held(open(root));
    const directory = held(above.openDirectory(name));
    const given = { directory: held(directory.openDirectory(GIVEN)), path: join(path, GIVEN) };
    const keepAs = () => makeFreshDirectory(root, ref);
    return new AttemptDirectory({ ...places, above, name, directory, path, given, keepAs });
  } catch (error) {
    for (const directory of opened) directory.close();
    throw error;
  }
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
