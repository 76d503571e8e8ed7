import { link } from 'node:fs/promises';
import { dirname } from 'node:path';
import { withFreshFile } from './private-files.js';
import { syncFolder } from './sync-folder.js';

/** Creates a file with this text that its owner alone may read, unless there is one. A crash leaves no file or all of it, and of several
 *  who create it the first wins. Rejects as the file system does. */
export async function writeOnce(path: string, text: string): Promise<void> {
  try {
    await withFreshFile(path, text, (fresh) => link(fresh, path));
    await syncFolder(dirname(path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
