import type { BigIntStats, Dirent } from 'node:fs';
import { lstatSync, readdirSync } from 'node:fs';
import { chmod, lstat, readdir } from 'node:fs/promises';
import type { FileState } from '../core/outputs.js';

export interface FoundFile {
  /** Beneath the directory, with `/`; bytes, because a name on disk need not be text. */
  readonly path: Buffer;
  readonly state: FileState;
}

const SLASH = Buffer.from('/');

/** A folder of this size has some hundred entries at most. */
const SMALL_FOLDER_BYTES = 4096;

const LISTED = { encoding: 'buffer', withFileTypes: true } as const;

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
    for (const entry of await entriesOf(at, (why) => onFault(folder ?? base, why))) {
      const { name } = entry;
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

/** What is in a folder, to which its owner is given all rights again; nothing when it is no folder, for a job may have put a
 *  link in its place. */
async function entriesOf(path: Buffer, onFault: (why: string) => void): Promise<Dirent<Buffer>[]> {
  try {
    const found = lstatSync(path);
    if (!found.isDirectory()) return [];
    // A folder of somebody else stays as it is: whether it can be read is found out by reading it.
    if ((found.mode & 0o700) !== 0o700)
      await chmod(path, (found.mode & 0o7777) | 0o700).catch(() => undefined);
    // Most jobs leave next to nothing in most folders: a list made by a thread would cost more.
    if (found.size <= SMALL_FOLDER_BYTES) return readdirSync(path, LISTED);
    return await readdir(path, LISTED);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTDIR') onFault(`its folder cannot be read (${code})`);
    return [];
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
