import { randomBytes } from 'node:crypto';
import { mkdir, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { PRIVATE_FOLDER_MODE } from '@workbench-hub/shared/runtime/private-files';
import { readOwnFile } from '@workbench-hub/shared/runtime/read-own-file';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';

export const WEBHOOK_KEYS_FILE = 'webhook-keys';

const KEY_BYTES = 32;

/** Keys from which the secrets of receivers of webhooks are derived: the lines of `<dataDir>/webhook-keys`, the newest first.
 *  Created with one key, readable by the hub's user only. Throws {@link StartRefused} when the file is unusable. */
export async function webhookKeys(dataDir: string): Promise<Buffer[]> {
  const path = join(dataDir, WEBHOOK_KEYS_FILE);
  await make(path, dataDir);
  const { mode } = await stat(path);
  if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
    throw new StartRefused(
      `${path} may be read by other users (mode ${(mode & 0o777).toString(8)}), who could sign webhooks; run "chmod 600 ${path}"`,
    );
  }
  const lines = (await readOwnFile(path)).split('\n').map((line) => line.trim());
  const keys = lines.filter((line) => line !== '').map((line) => Buffer.from(line, 'base64'));
  if (keys.length === 0 || keys.some((key) => key.length !== KEY_BYTES)) {
    throw new StartRefused(
      `${path} must have one key of ${KEY_BYTES} bytes in Base64 on each line: restore it from a backup, or remove it to have a ` +
        'new key made, with which receivers need new secrets',
    );
  }
  return keys;
}

async function make(path: string, dataDir: string): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: PRIVATE_FOLDER_MODE });
  try {
    const handle = await open(path, 'wx', 0o600);
    try {
      await handle.writeFile(`${randomBytes(KEY_BYTES).toString('base64')}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
