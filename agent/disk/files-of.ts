import type { BigIntStats } from 'node:fs';
import { lstatSync, opendirSync } from 'node:fs';
import { chmod, lstat, readdir } from 'node:fs/promises';
import type { FileState } from '../core/outputs.js';

export interface FoundFile {
  /** Beneath the directory, with `/`; bytes, because a name on disk need not be text. */
  readonly path: Buffer;
  readonly state: FileState;
}

const SLASH = Buffer.from('/');

/** The regular files beneath a directory, links not followed, in no order. Folders that a job closed are opened again.
 *  `onFault` is told of what cannot be read all the same, `onOther` of links and whatever else is neither file nor folder;
 *  what vanishes meanwhile is left out. */
export async function* filesOf(
  directory: string,
  onFault: (path: Buffer, why: string) => void,
  onOther: (path: Buffer) => void = () => undefined,
): AsyncGenerator<FoundFile> {
  const base = Buffer.from(directory);
  const folders: Buffer[] = [Buffer.alloc(0)];
  for (let folder = folders.pop(); folder; folder = folders.pop()) {
    const at = joinBytes(base, folder);
    // A job may have put a link in its place.
    if (!(await openFolder(at)) || isEmpty(at)) continue;
    const entries = await readdir(at, { encoding: 'buffer', withFileTypes: true }).catch((error: unknown) => {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT' && code !== 'ENOTDIR')
        onFault(folder ?? base, `its folder cannot be read (${code})`);
      return [];
    });
    for (const entry of entries) {
      const name = entry.name as unknown as Buffer;
      const path = joinBytes(folder, name);
      if (entry.isDirectory()) folders.push(path);
      else if (entry.isFile()) {
        const state = await stateOf(joinBytes(base, path));
        if (state === 'NO_RIGHT') onFault(path, 'its folder may not be entered');
        else if (state) yield { path, state };
      } else onOther(path);
    }
  }
}

/** The path of something in a folder; either may be empty. */
export function joinBytes(folder: Buffer, name: Buffer): Buffer {
  if (folder.length === 0) return name;
  return name.length === 0 ? folder : Buffer.concat([folder, SLASH, name]);
}

/** Gives its owner all rights again; a folder of somebody else stays as it is. False when it is no folder. */
async function openFolder(path: Buffer): Promise<boolean> {
  try {
    const found = lstatSync(path);
    if (!found.isDirectory()) return false;
    if ((found.mode & 0o700) !== 0o700) await chmod(path, (found.mode & 0o7777) | 0o700);
  } catch {
    // Whether it can be read is found out by reading it.
  }
  return true;
}

/** Most jobs leave nothing in most folders, and that the system says at once: a list made by a thread costs more. */
function isEmpty(path: Buffer): boolean {
  try {
    const folder = opendirSync(path, { bufferSize: 1 });
    try {
      return folder.readSync() === null;
    } finally {
      folder.closeSync();
    }
  } catch {
    return false; // what is wrong with it is found out by reading it
  }
}

async function stateOf(path: Buffer): Promise<FileState | 'NO_RIGHT' | undefined> {
  try {
    const found = await lstat(path, { bigint: true });
    return found.isFile() ? stateFrom(found) : undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    if (code === 'EACCES') return 'NO_RIGHT';
    throw error;
  }
}

/** What is compared of a file. */
export function stateFrom(stats: Pick<BigIntStats, 'size' | 'mtimeNs' | 'ctimeNs' | 'ino'>): FileState {
  return { sizeBytes: stats.size, modifiedNs: stats.mtimeNs, changedNs: stats.ctimeNs, inode: stats.ino };
}
