import type { BigIntStats } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import type { FileState } from '../core/outputs.js';

export interface FoundFile {
  /** Beneath the directory, with `/`; bytes, because a name on disk need not be text. */
  readonly path: Buffer;
  readonly state: FileState;
}

const SLASH = Buffer.from('/');

/** The regular files beneath a directory, links not followed, in no order. `onFault` is told of a folder that cannot be
 *  read; what vanishes meanwhile is left out. */
export async function* filesOf(
  directory: string,
  onFault: (path: Buffer, why: string) => void,
): AsyncGenerator<FoundFile> {
  const base = Buffer.from(directory);
  const folders: Buffer[] = [Buffer.alloc(0)];
  for (let folder = folders.pop(); folder; folder = folders.pop()) {
    const at = folder.length === 0 ? base : Buffer.concat([base, SLASH, folder]);
    const entries = await readdir(at, { encoding: 'buffer', withFileTypes: true }).catch((error: unknown) => {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT' && code !== 'ENOTDIR')
        onFault(folder ?? base, `its folder cannot be read (${code})`);
      return [];
    });
    for (const entry of entries) {
      const name = entry.name as unknown as Buffer;
      const path = folder.length === 0 ? name : Buffer.concat([folder, SLASH, name]);
      if (entry.isDirectory()) folders.push(path);
      else if (entry.isFile()) {
        const state = await stateOf(Buffer.concat([base, SLASH, path]));
        if (state) yield { path, state };
      }
    }
  }
}

async function stateOf(path: Buffer): Promise<FileState | undefined> {
  try {
    const found = await lstat(path, { bigint: true });
    return found.isFile() ? stateFrom(found) : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** What is compared of a file. */
export function stateFrom(stats: Pick<BigIntStats, 'size' | 'mtimeNs' | 'ctimeNs' | 'ino'>): FileState {
  return { sizeBytes: stats.size, modifiedNs: stats.mtimeNs, changedNs: stats.ctimeNs, inode: stats.ino };
}
