import { statfs } from 'node:fs/promises';
import type { DiskSpace } from '../core/disk-space.js';

/** Free space of the file system of a folder; `use` says what it is for. */
export async function spaceOf(path: string, use: string): Promise<DiskSpace> {
  const { bsize, bavail, blocks, files, ffree } = await statfs(path);
  const freeFiles = files > 0 ? ffree : null;
  return { use, freeBytes: bsize * bavail, sizeBytes: bsize * blocks, freeFiles };
}
