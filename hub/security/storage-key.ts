import { randomBytes } from 'node:crypto';
import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isThere } from '@workbench-hub/shared/runtime/is-there';
import { PRIVATE_FOLDER_MODE } from '@workbench-hub/shared/runtime/private-files';
import { readOwnFile } from '@workbench-hub/shared/runtime/read-own-file';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import { writeOnce } from '@workbench-hub/shared/runtime/write-once';

const FILE_NAME = 'storage-key';

const KEY_BYTES = 32;

/** The storage key: the configured one (Base64), or the one in `<dataDir>/storage-key`, created at the first start and
 *  readable by the hub's user only (contract 7.8). Throws {@link StartRefused} when that file is unusable, for a new
 *  key could not read encrypted files. */
export async function storageKey(configured: string | null, dataDir: string): Promise<Buffer> {
  if (configured !== null) return Buffer.from(configured, 'base64');
  const path = join(dataDir, FILE_NAME);
  await mkdir(dataDir, { recursive: true, mode: PRIVATE_FOLDER_MODE });
  if (!(await isThere(path))) await writeOnce(path, `${randomBytes(KEY_BYTES).toString('base64')}\n`);
  const { mode } = await stat(path);
  if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
    throw new StartRefused(
      `${path} may be read by other users (mode ${(mode & 0o777).toString(8)}), and with it every encrypted file; ` +
        `run "chmod 600 ${path}"`,
    );
  }
  const text = (await readOwnFile(path)).trim();
  if (!isStorageKey(text)) {
    throw new StartRefused(
      `${path} holds no key of ${KEY_BYTES} bytes in Base64: restore it from a backup, or remove it to have a new key made; ` +
        'files that were encrypted with the lost one can then no longer be read',
    );
  }
  return Buffer.from(text, 'base64');
}

function isStorageKey(text: string): boolean {
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === KEY_BYTES && bytes.toString('base64') === text;
}
