import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PRIVATE_FOLDER_MODE, replacePrivateFile } from '@workbench-hub/shared/runtime/private-files';
import { unreadableFile } from '@workbench-hub/shared/runtime/read-own-file';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';

const FILE_NAME = 'cluster-id';
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Identity by which other hubs know this one, the same for all hubs on one database: a UUID in `<dataDir>/cluster-id`, made at the first
 *  start. Rejects with {@link StartRefused} when it cannot be read. */
export async function hubIdentity(dataDir: string, newId: () => string): Promise<string> {
  const path = join(dataDir, FILE_NAME);
  const known = await identityIn(path);
  if (known !== undefined) return known;
  await mkdir(dataDir, { recursive: true, mode: PRIVATE_FOLDER_MODE });
  const id = newId();
  await replacePrivateFile(path, `${id}\n`);
  return id;
}

/** Undefined when there is no such file. */
async function identityIn(path: string): Promise<string | undefined> {
  let text: string;
  try {
    text = (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw unreadableFile(path, error);
  }
  if (UUID.test(text)) return text;
  throw new StartRefused(`${path} does not hold the identity of this hub: remove it to have a new one made`);
}
