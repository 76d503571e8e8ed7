import { randomBytes } from 'node:crypto';
import { mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import { PRIVATE_FOLDER_MODE } from '@workbench-hub/shared/runtime/private-files';
import { readOwnFile } from '@workbench-hub/shared/runtime/read-own-file';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';

const FILE_NAME = 'agent-token';

/** The join token: the configured one, or the one in `<dataDir>/agent-token`, created at the first start and readable
 *  by the hub's user only (contract 13.4). */
export async function agentToken(configured: string | null, dataDir: string): Promise<string> {
  if (configured !== null) return configured;
  const path = join(dataDir, FILE_NAME);
  await mkdir(dataDir, { recursive: true, mode: PRIVATE_FOLDER_MODE });
  try {
    const handle = await open(path, 'wx', 0o600);
    try {
      const token = randomBytes(32).toString('base64url');
      await handle.writeFile(`${token}\n`);
      await handle.sync();
      return token;
    } finally {
      await handle.close();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const token = (await readOwnFile(path)).trim();
  if (token === '') {
    throw new StartRefused(`${path} is empty: remove it to have a new token made, or set agents.token`);
  }
  return token;
}
