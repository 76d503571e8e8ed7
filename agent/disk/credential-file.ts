import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { PRIVATE_FOLDER_MODE } from '@workbench-hub/shared/runtime/private-files';

/** Writes the credential atomically to a file that only this user may read. */
export async function keepCredential(file: string, credential: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: PRIVATE_FOLDER_MODE });
  const fresh = `${file}.new`;
  // A file of an interrupted run might be readable by others.
  await rm(fresh, { force: true });
  const handle = await open(fresh, 'wx', 0o600);
  try {
    await handle.writeFile(`${credential}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(fresh, file);
}
