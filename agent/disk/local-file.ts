/** Files of this host that a job refers to, below readable folders. */
import { constants } from 'node:fs';
import { access, type FileHandle, realpath, stat } from 'node:fs/promises';
import { resolve, sep } from 'node:path';
import { liesIn } from '../core/local-model.js';
import { FileNotReadable } from '../core/ports/workspace.js';
import type { OpenDirectory } from './directory.js';
import { isGone } from './list-files.js';

/** Opens a file below a readable folder without following links there. */
export async function openLocalFile(open: OpenDirectory, source: string, root: string): Promise<FileHandle> {
  if (!liesIn(source, root)) throw new FileNotReadable('it does not lie in that folder');
  const names = source
    .slice(root.length)
    .split(sep)
    .filter((name) => name !== '');
  const name = names.pop() as string;
  let folder = open(root);
  try {
    for (const next of names) {
      const above = folder;
      folder = above.openDirectory(next);
      above.close();
    }
    const file = await folder.openFile(name);
    if ((await file.stat()).isFile()) return file;
    await file.close();
    throw new FileNotReadable('it is not a file');
  } catch (error) {
    throw isGone(error) ? new FileNotReadable('it was changed while it was read', { cause: error }) : error;
  } finally {
    folder.close();
  }
}

/** Resolves the links of a path. Rejects with {@link FileNotReadable}. */
export async function resolveFile(path: string): Promise<string> {
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
