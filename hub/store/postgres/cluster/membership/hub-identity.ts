/** The id of a hub, by which the hubs of a database tell each other apart: made at its first start, and kept in its data folder. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { replacePrivateFile } from '@workbench-hub/shared/runtime/private-files';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';

const ID = /^[0-9a-f]{12}$/;
const ID_LENGTH = 12;

/** The id of the hub with this data folder, which is locked: 12 hexadecimal digits. Rejects with `StartRefused` when the file has
 *  something else, and with the error of the system. `newId` gives UUIDs. */
export async function hubIdIn(dataDir: string, newId: () => string): Promise<string> {
  return (await keptHubId(dataDir)) ?? makeId(fileIn(dataDir), newId);
}

/** The id of the hub with this data folder; null before its first start. Rejects as {@link hubIdIn} does. */
export async function keptHubId(dataDir: string): Promise<string | null> {
  const file = fileIn(dataDir);
  const kept = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (kept === undefined) return null;
  const id = kept.trim();
  if (ID.test(id)) return id;
  throw new StartRefused(
    `${file} has no id of a hub, which is ${ID_LENGTH} hexadecimal digits: remove the file, and the hub makes a new one`,
  );
}

function fileIn(dataDir: string): string {
  return join(dataDir, 'hub-id');
}

async function makeId(file: string, newId: () => string): Promise<string> {
  // The end of an id is its random part.
  const id = newId().replaceAll('-', '').slice(-ID_LENGTH);
  await replacePrivateFile(file, `${id}\n`);
  return id;
}
