/**
 * The directories of attempts, `work/<taskId>-<attempt>/`:
 *
 *   files/            the working directory: additional files, the model, and what scripts make
 *   script-1 ...      the scripts
 *   output-storage/   WORKBENCH_OUTPUT_STORAGE
 *   variables.json    WORKBENCH_VARIABLES
 *   .kept             marks one that stays for people to look into
 *
 * Those of a program in a sandbox are made before their attempt is known (room.ts). One that is kept gets the name of its
 * attempt then.
 */
import { closeSync, constants, open, realpathSync, writeFileSync } from 'node:fs';
import {
  access,
  chmod,
  copyFile,
  mkdir,
  readdir,
  realpath,
  rename,
  rm,
  rmdir,
  stat,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import type { FileState } from '../core/outputs.js';
import {
  FileNotReadable,
  type Room,
  type WorkingDirectory,
  type Workspace,
} from '../core/ports/workspace.js';
import { collect } from './collect.js';
import type { DiskCache } from './disk-cache.js';
import { filesOf, joinBytes } from './files-of.js';
import { makeFreshDirectory } from './fresh-directory.js';
import { FILES, GIVEN, makeRoom, OUTPUT_STORAGE, takeRoom } from './room.js';

const KEPT_MARK = '.kept';

export interface DiskWorkspace extends Workspace {
  /** Makes a working directory for a program in a sandbox. Throws the system's error. */
  makeRoom(): Room;
}

/** Opens the workspace in `root` and removes what earlier attempts left behind. */
export async function openWorkspace(root: string, cache: DiskCache): Promise<DiskWorkspace> {
  await mkdir(root, { recursive: true });
  for (const name of await readdir(root)) {
    const directory = join(root, name);
    if (!(await exists(join(directory, KEPT_MARK)))) await removeTree(directory);
  }
  return {
    makeRoom: () => makeRoom(root),
    create: async (ref: AttemptRef, room: Room | null = null) => {
      // A room that is gone went with its program, and the attempt will hear of that.
      if (room !== null && takeRoom(room)) {
        const given = join(room.path, GIVEN);
        return workingDirectory(room.path, cache, { given, keepAs: () => freshPath(root, ref) });
      }
      const name = await makeFreshDirectory(root, ref);
      const directory = join(realpathSync.native(root), name);
      try {
        await Promise.all([FILES, OUTPUT_STORAGE].map((folder) => mkdir(join(directory, folder))));
      } catch (error) {
        await removeTree(directory).catch(() => undefined);
        throw error;
      }
      return workingDirectory(directory, cache);
    },
    resolve: resolveFile,
    resolveFolders: async (paths) => {
      const resolved = await Promise.all(paths.map((path) => realpath(path).catch(() => undefined)));
      return resolved.filter((path) => path !== undefined);
    },
  };
}

/** Gives a path for a directory of an attempt that lies elsewhere and is to have its name: an empty folder, in whose place
 *  it may be put. */
async function freshPath(root: string, ref: AttemptRef): Promise<string> {
  return join(root, await makeFreshDirectory(root, ref));
}

/** What is different in a room: where scripts and variables lie, and what it is called when it is kept. */
interface Differences {
  readonly given: string;
  readonly keepAs: () => Promise<string>;
}

function workingDirectory(directory: string, cache: DiskCache, room?: Differences): WorkingDirectory {
  const given = room?.given ?? directory;
  const files = join(directory, FILES);
  const outputStorage = join(directory, OUTPUT_STORAGE);
  const variables = join(given, 'variables.json');
  /** What the job found beside its working directory. */
  const beside: string[] = [];
  const staged = new Map<string, FileState>();
  /** Whether anything lies in it before the job begins. */
  let isPlaced = false;

  const copy = async (target: string, source: string): Promise<string> => {
    // Copy on write where the file system can: never a link, since scripts may write into their files.
    const flags = constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL;
    for (;;) {
      try {
        await copyFile(source, target, flags);
        return target;
      } catch (error) {
        const isFull = (error as NodeJS.ErrnoException).code === 'ENOSPC';
        if (!isFull || !(await cache.makeRoom())) throw error;
        await rm(target, { force: true });
      }
    }
  };
  const placeInFiles = async (path: string, source: string): Promise<string> => {
    isPlaced = true;
    const target = join(files, path);
    const folder = dirname(target);
    if (folder !== files) await mkdir(folder, { recursive: true });
    await copy(target, source);
    await chmod(target, 0o644);
    return target;
  };

  return {
    files,
    outputStorage,
    variables,
    placeFile: (path, digest) => placeInFiles(path, cache.pathOf(digest)),
    placeScript: (index, digest) => {
      const target = join(given, `script-${index + 1}`);
      beside.push(target);
      return copy(target, cache.pathOf(digest));
    },
    placeLocalFile: placeInFiles,
    writeVariables: async (values) => {
      beside.push(variables);
      const file = await openNew(variables);
      try {
        writeFileSync(file, JSON.stringify(values));
      } finally {
        closeSync(file);
      }
    },
    seal: async () => {
      if (!isPlaced) return;
      for await (const { path, state } of filesOf(files, () => undefined))
        staged.set(path.toString('latin1'), state);
    },
    collect: (into, options, signal) => collect({ files, outputStorage }, staged, into, options, signal),
    keep: async () => {
      await writeFile(join(directory, KEPT_MARK), '');
      if (room) await rename(directory, await room.keepAs());
    },
    discard: async () => {
      if (room) return removeTree(directory);
      const removals = [
        ...[files, outputStorage].map((folder) => rmdir(folder)),
        ...beside.map((file) => unlink(file)),
      ];
      const removed = await Promise.allSettled(removals);
      try {
        if (removed.every(({ status }) => status === 'fulfilled')) return await rmdir(directory);
      } catch {
        // It holds more than what was put there.
      }
      await removeTree(directory);
    },
  };
}

/** Only to make the file may take long, and is done by a thread; what is written into it is copied into the memory of the
 *  system. */
function openNew(path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    open(path, 'wx', 0o600, (error, file) => (error ? reject(error) : resolve(file)));
  });
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

/** Also when a script took away the right to write in its folders. */
async function removeTree(directory: string): Promise<void> {
  try {
    await rm(directory, { recursive: true, force: true });
  } catch {
    // The first try may still be at work on folders beside the one that it failed at.
    await makeRemovable(Buffer.from(directory));
    await rm(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  }
}

async function makeRemovable(directory: Buffer): Promise<void> {
  try {
    await chmod(directory, 0o700);
    for (const entry of await readdir(directory, { encoding: 'buffer', withFileTypes: true })) {
      if (entry.isDirectory()) await makeRemovable(joinBytes(directory, entry.name as unknown as Buffer));
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
