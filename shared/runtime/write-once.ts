import { randomUUID } from 'node:crypto';
import { link, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncFolder } from './sync-folder.js';

/** Creates a file with this text that its owner alone may read, unless there is one. A crash leaves no file or all of it, and of several
 *  who create it the first wins. Rejects as the file system does. */
export async function writeOnce(path: string, text: string): Promise<void> {
  const fresh = `${path}.${randomUUID()}`;
  try {
    const handle = await open(fresh, 'wx', 0o600);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await link(fresh, path);
    await syncFolder(dirname(path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(fresh, { force: true });
  }
}
