import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';

/** The configured folder of blobs; null when none is configured, or when it is the local one, whatever path leads there. */
export async function folderElsewhere(folder: string | null, localFolder: string): Promise<string | null> {
  if (folder === null || resolve(folder) === resolve(localFolder)) return null;
  const [configured, local] = await Promise.all([identityOf(folder), identityOf(localFolder)]);
  return configured !== undefined && configured === local ? null : folder;
}

/** Device and inode; undefined for a folder that cannot be looked at. */
async function identityOf(folder: string): Promise<string | undefined> {
  const info = await stat(folder, { bigint: true }).catch(() => undefined);
  return info && `${info.dev}:${info.ino}`;
}
