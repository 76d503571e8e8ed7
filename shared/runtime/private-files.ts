/** Private files and folders, independent of the umask. */
import { randomUUID } from 'node:crypto';
import { open, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { replaceFile } from './replace-file.js';
import { syncFolder } from './sync-folder.js';

export const PRIVATE_FOLDER_MODE = 0o700;
export const PRIVATE_FILE_MODE = 0o600;

const GROUP_AND_OTHERS = 0o077;
const MAY_ENTER = 0o011;

/** Names in a folder that group or others may access; empty when they may not enter the folder, and on systems without such
 *  permissions. */
export async function openToOthers(folder: string): Promise<string[]> {
  if (process.platform === 'win32') return [];
  if (((await stat(folder)).mode & MAY_ENTER) === 0) return [];
  const names: string[] = [];
  for (const name of (await readdir(folder)).sort()) {
    const info = await stat(join(folder, name)).catch(() => undefined);
    if (info && (info.mode & GROUP_AND_OTHERS) !== 0) names.push(name);
  }
  return names;
}

/** Message about them, with the remedy. */
export function openToOthersText(
  folder: string,
  open: readonly string[],
): { message: string; advice: string } {
  return {
    message: `other users of this machine may use ${open.join(', ')} in ${folder}`,
    advice: `run "chmod -R go= ${folder}"`,
  };
}

/** Writes a file that only its owner may read, in place of the one there: whole or not at all. */
export async function replacePrivateFile(path: string, content: string): Promise<void> {
  await withFreshFile(path, content, (fresh) => replaceFile(fresh, path));
  await syncFolder(dirname(path));
}

/** Writes a file that only its owner may read, beside `path`, for `use` to move or link there. Nothing of it is left but what `use` made. */
export async function withFreshFile(
  path: string,
  content: string,
  use: (fresh: string) => Promise<void>,
): Promise<void> {
  const fresh = `${path}.${randomUUID()}`;
  const handle = await open(fresh, 'wx', PRIVATE_FILE_MODE);
  try {
    try {
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await use(fresh);
  } finally {
    await rm(fresh, { force: true }).catch(() => undefined);
  }
}
