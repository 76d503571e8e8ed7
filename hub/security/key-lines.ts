import { randomBytes } from 'node:crypto';
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isThere } from '@workbench-hub/shared/runtime/is-there';
import { PRIVATE_FOLDER_MODE } from '@workbench-hub/shared/runtime/private-files';
import { readOwnFile } from '@workbench-hub/shared/runtime/read-own-file';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import { writeOnce } from '@workbench-hub/shared/runtime/write-once';

const KEY_BYTES = 32;

/** Words of a file of keys, for its errors. */
export interface KeyLinesWords {
  /** Abuse by those who can read it: `sign webhooks`. */
  readonly abuse: string;
  /** Consequence of a new key: `with which receivers need new secrets`. */
  readonly consequence: string;
}

/** Keys in the lines of a file, the newest first. Created with one key, readable by the hub's user only. Throws
 *  {@link StartRefused} when the file is unusable. */
export async function keyLines(path: string, { abuse, consequence }: KeyLinesWords): Promise<Buffer[]> {
  await mkdir(dirname(path), { recursive: true, mode: PRIVATE_FOLDER_MODE });
  if (!(await isThere(path))) await writeOnce(path, `${randomBytes(KEY_BYTES).toString('base64')}\n`);
  const { mode } = await stat(path);
  if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
    throw new StartRefused(
      `${path} may be read by other users (mode ${(mode & 0o777).toString(8)}), who could ${abuse}; run "chmod 600 ${path}"`,
    );
  }
  const lines = (await readOwnFile(path)).split('\n').map((line) => line.trim());
  const keys = lines.filter((line) => line !== '').map((line) => Buffer.from(line, 'base64'));
  if (keys.length === 0 || keys.some((key) => key.length !== KEY_BYTES)) {
    throw new StartRefused(
      `${path} must have one key of ${KEY_BYTES} bytes in Base64 on each line: restore it from a backup, or remove it to have a ` +
        `new key made, ${consequence}`,
    );
  }
  return keys;
}
