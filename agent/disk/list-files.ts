import type { BigIntStats, Dirent } from 'node:fs';
import { MAX_PATH_LENGTH } from '@workbench-hub/shared/domain/relative-path';
import type { FileState } from '../core/outputs.js';
import { codeOf, type Directory, type Listing } from './directory.js';
import { DirectoryWalk } from './directory-walk.js';

export interface ListedFile {
  /** Path below the directory, with `/`; bytes, because a name on disk need not be text. */
  readonly path: Buffer;
  /** Names of its parent folders, from the top. */
  readonly folder: readonly Buffer[];
  readonly name: Buffer;
  readonly state: FileState;
}

const SLASH = Buffer.from('/');

/** Maximum number of parts of an output path. */
const DEEPEST = MAX_PATH_LENGTH / 2;

/** Lists the regular files below a directory, without following links, in no order. Folders that a job made inaccessible are
 *  unlocked. `onFault` gets entries that are still unreadable, `onOther` links and other special files; entries that vanish are
 *  omitted. */
export async function* listFiles(
  top: Directory,
  onFault: (path: Buffer, why: string) => void,
  onOther: (path: Buffer) => void = () => undefined,
): AsyncGenerator<ListedFile> {
  const descent = new DirectoryWalk(top);
  const folders: (readonly Buffer[])[] = [[]];
  const onNoFile = (entry: Dirent<Buffer>, folder: readonly Buffer[], path: Buffer) => {
    if (!entry.isDirectory()) onOther(path);
    else if (folder.length < DEEPEST) folders.push([...folder, entry.name]);
    else onFault(path, `it lies more than ${DEEPEST} folders deep`);
  };
  try {
    for (let folder = folders.pop(); folder; folder = folders.pop()) {
      const at = joinBytes(folder);
      for await (const { entry, found } of listed(descent, folder, (why) => onFault(at, why))) {
        const name: Buffer = entry.name;
        const path = pathIn(at, name);
        if (!entry.isFile()) {
          onNoFile(entry, folder, path);
          continue;
        }
        const state = await stateOf(found, name, (why) => onFault(path, why));
        if (state) yield { path, folder, name, state };
      }
    }
  } finally {
    descent.close();
  }
}

/** Error codes of a folder that a job made unreadable, or whose path is too long. */
const FAULTS_OF_A_JOB: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'ENAMETOOLONG']);

interface ListedFolder extends Pick<Listing, 'isSmall'> {
  readonly directory: Directory;
}

interface ListedEntry {
  readonly entry: Dirent<Buffer>;
  readonly found: ListedFolder;
}

/** Entries of a folder; none when it is not a folder: a job may have replaced it by a link. */
async function* listed(
  descent: DirectoryWalk,
  folder: readonly Buffer[],
  onFault: (why: string) => void,
): AsyncGenerator<ListedEntry> {
  try {
    const directory = descent.to(folder);
    const { entries, isSmall } = await directory.list();
    for await (const entry of entries) yield { entry, found: { directory, isSmall } };
  } catch (error) {
    if (isGone(error)) return;
    const code = codeOf(error);
    // Any other is a fault of the host.
    if (code === undefined || !FAULTS_OF_A_JOB.has(code)) throw error;
    onFault(`its folder cannot be read (${code})`);
  }
}

/** Undefined when it is no longer a file, or may not be read. */
async function stateOf(
  { directory, isSmall }: ListedFolder,
  name: Buffer,
  onFault: (why: string) => void,
): Promise<FileState | undefined> {
  try {
    const found = isSmall ? directory.statNow(name) : await directory.stat(name);
    return found.isFile() ? stateFrom(found) : undefined;
  } catch (error) {
    if (isGone(error)) return undefined;
    if (codeOf(error) !== 'EACCES') throw error;
    onFault('its folder may not be entered');
    return undefined;
  }
}

/** Whether an error says that an entry is missing or was replaced. ENXIO is the error for a socket. */
export function isGone(error: unknown): boolean {
  const code = codeOf(error);
  return code !== undefined && ['ENOENT', 'ENOTDIR', 'ELOOP', 'ESTALE', 'ENXIO'].includes(code);
}

/** Attributes that are compared. */
export function stateFrom(stats: Pick<BigIntStats, 'size' | 'mtimeNs' | 'ctimeNs' | 'ino'>): FileState {
  return { sizeBytes: stats.size, modifiedNs: stats.mtimeNs, changedNs: stats.ctimeNs, inode: stats.ino };
}

/** Path of an entry of a folder, which is empty for the top. */
function pathIn(folder: Buffer, name: Buffer): Buffer {
  return folder.length === 0 ? name : joinBytes([folder, name]);
}

function joinBytes(parts: readonly Buffer[]): Buffer {
  return Buffer.concat(parts.flatMap((part, index) => (index === 0 ? [part] : [SLASH, part])));
}
