import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PRIVATE_FOLDER_MODE, replacePrivateFile } from '@workbench-hub/shared/runtime/private-files';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';

const FILE_NAME = 'cluster-id';
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Identity by which other hubs know this one, the same for all hubs on one database: a UUID in `<dataDir>/cluster-id`, made at the first
 *  start. */
export async function hubIdentity(dataDir: string, newId: () => string): Promise<string> {
  const path = join(dataDir, FILE_NAME);
  try {
    const id = (await readFile(path, 'utf8')).trim();
    if (UUID.test(id)) return id;
    throw new StartRefused(
      `${path} does not hold the identity of this hub: remove it to have a new one made`,
    );
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  await mkdir(dataDir, { recursive: true, mode: PRIVATE_FOLDER_MODE });
  const id = newId();
  await replacePrivateFile(path, `${id}\n`);
  return id;
}
