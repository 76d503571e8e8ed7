import { statfs } from 'node:fs/promises';

/** Space of the file system that holds `path`; `exists` is false and the space 0 when the path does not exist. */
export async function diskSpace(
  path: string,
): Promise<{ totalBytes: number; freeBytes: number; exists: boolean }> {
  try {
    const { bsize, blocks, bavail } = await statfs(path);
    return { totalBytes: bsize * blocks, freeBytes: bsize * bavail, exists: true };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return { totalBytes: 0, freeBytes: 0, exists: false };
  }
}
