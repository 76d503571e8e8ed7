/** Mark of a folder of blobs, by which hubs find out whether they have the same one. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';

const FILE = 'workbench-hub-folder';

/** The mark of the folder, which is made if need be. Rejects with `StartRefused` when the folder cannot be used. */
export async function folderMark(folder: string): Promise<string> {
  const file = join(folder, FILE);
  try {
    await mkdir(folder, { recursive: true });
    if (!existsSync(file)) await makeMark(file);
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new StartRefused(
      `storage.folder: ${folder} cannot be used (${code}): correct the path, mount the file system, or give the hub's user the right to write there`,
      { cause: error },
    );
  }
}

/** Makes the mark unless there is one. It appears whole: another hub may start at the same time. */
async function makeMark(file: string): Promise<void> {
  const mark = randomUUID();
  const unfinished = `${file}-${mark}`;
  try {
    await writeFile(unfinished, `${mark}\n`, { flag: 'wx', mode: 0o600 });
    await link(unfinished, file).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') throw error;
      // Some network file systems have no links.
      await writeFile(file, `${mark}\n`, { flag: 'wx', mode: 0o600 });
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(unfinished, { force: true });
  }
}
