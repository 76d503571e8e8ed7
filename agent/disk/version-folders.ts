/**
 * Versions of the agent in `<dataDir>/versions`: a folder for each, downloads as `<digest>.partial`, and the file `state.json`. Each step
 * is one rename, after what it makes visible is on the disk, so that a loss of power leaves the step before or the one after.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, readFile, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { replacePrivateFile } from '@workbench-hub/shared/runtime/private-files';
import { replaceFile } from '@workbench-hub/shared/runtime/replace-file';
import { syncFolder } from '@workbench-hub/shared/runtime/sync-folder';
import type { OfferedVersion, Versions } from '../core/ports/versions.js';
import { neededVersions, type VersionState } from '../core/version-states.js';
import { partialSize, writePartial } from './partial-blob.js';

const FOLDER = 'versions';
const STATE_FILE = 'state.json';
const PROGRAM = process.platform === 'win32' ? 'workbench-agent.exe' : 'workbench-agent';

/** Operations on files, one of which a test lets fail. */
export const FILE_STEPS = { mkdir, replaceFile, rm, replacePrivateFile, syncFolder, syncFile, writePartial };
export type FileSteps = typeof FILE_STEPS;

/** Folder of the versions in a data folder. */
export function versionsFolder(dataDir: string): string {
  return join(dataDir, FOLDER);
}

/** Path of the executable file of a version. */
export function programOf(folder: string, name: string): string {
  return join(folder, name, PROGRAM);
}

/** Reads the state; null for none, and for a file that a fault of the disk has damaged. */
export async function readVersionState(folder: string): Promise<VersionState | null> {
  try {
    return JSON.parse(await readFile(join(folder, STATE_FILE), 'utf8')) as VersionState;
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Replaces the state; rejects with the error of the disk. */
export async function writeVersionState(
  folder: string,
  state: VersionState,
  steps: Pick<FileSteps, 'mkdir' | 'replacePrivateFile'> = FILE_STEPS,
): Promise<void> {
  await steps.mkdir(folder, { recursive: true, mode: 0o700 });
  await steps.replacePrivateFile(join(folder, STATE_FILE), `${JSON.stringify(state)}\n`);
}

/** The versions in this folder, for an agent; `installed` is the path of the installed file. */
export function versionFolders(
  folder: string,
  { installed, steps = FILE_STEPS }: { readonly installed: string; readonly steps?: FileSteps },
): Versions {
  let digest: Promise<string> | undefined;
  const partialOf = ({ file }: OfferedVersion) => join(folder, `${file.digest}.partial`);
  return {
    state: () => readVersionState(folder),
    installedDigest: () => {
      digest ??= digestOf(installed);
      return digest;
    },
    has: (name) => isFile(programOf(folder, name)),
    keptBytes: (version) => partialSize(partialOf(version)),
    async add(version, content, fromByte) {
      const partial = partialOf(version);
      await steps.mkdir(folder, { recursive: true, mode: 0o700 });
      await steps.writePartial(partial, version.file, content, fromByte, async () => false);
      await steps.syncFile(partial);
      const fresh = join(folder, `${version.name}.new`);
      await steps.rm(fresh, { recursive: true, force: true });
      await steps.mkdir(fresh, { mode: 0o700 });
      await steps.replaceFile(partial, join(fresh, PROGRAM));
      await steps.syncFolder(fresh);
      const final = join(folder, version.name);
      // A virus scanner may have taken the program out of it.
      if (!(await isFile(programOf(folder, version.name))))
        await steps.rm(final, { recursive: true, force: true });
      await steps.replaceFile(fresh, final);
      await steps.syncFolder(folder);
    },
    async removeOthers(version) {
      const state = await readVersionState(folder);
      const needed = state ? neededVersions(state) : [];
      const kept = new Set([STATE_FILE, version.name, basename(partialOf(version)), ...needed]);
      for (const entry of await namesIn(folder)) {
        if (kept.has(entry)) continue;
        await steps.rm(join(folder, entry), { recursive: true, force: true });
      }
    },
  };
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) hash.update(chunk);
  return hash.digest('hex');
}

async function syncFile(path: string): Promise<void> {
  // Windows syncs only what is open for writing.
  const file = await open(path, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
