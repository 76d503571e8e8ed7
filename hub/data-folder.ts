/** The data folder as a whole: its preparation at a start, and the marks that restore and backup leave in it. */
import { mkdir, readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import {
  openToOthers,
  openToOthersText,
  PRIVATE_FOLDER_MODE,
} from '@workbench-hub/shared/runtime/private-files';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';

/** File that exists while a restore changes dataDir. */
export const RESTORE_UNDER_WAY = 'restore-under-way';

/** Creates the folder if need be. Rejects with {@link StartRefused} after an interrupted restore. */
export async function prepareDataFolder(dataDir: string, log: Logger): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: PRIVATE_FOLDER_MODE });
  const open = await openToOthers(dataDir);
  if (open.length > 0) {
    const { message, advice } = openToOthersText(dataDir, open);
    log.warn(`${message}: ${advice}`);
  }
  await refuseHalfRestored(dataDir);
}

async function refuseHalfRestored(dataDir: string): Promise<void> {
  const isHalf = await stat(join(dataDir, RESTORE_UNDER_WAY)).then(
    () => true,
    () => false,
  );
  if (!isHalf) return;
  throw new StartRefused(
    `a restore was interrupted in ${resolve(dataDir)}: repeat it with "workbench-hub restore FILE --replace"`,
  );
}

/** Name prefix of the folder in which a backup links the blobs that it includes. */
export const BACKUP_LINKS = 'backup-';

/** After this time without a new link, a backup has linked everything or was killed. */
const LINKING_MS = 60_000;

/** True while a backup may still link blobs that were referred to when it began. */
export async function isBackupLinking(dataDir: string, clock: Clock): Promise<boolean> {
  for (const name of await readdir(dataDir)) {
    if (!name.startsWith(BACKUP_LINKS)) continue;
    const linkedAtMs = await stat(join(dataDir, name)).then(
      ({ mtimeMs }) => mtimeMs,
      () => 0,
    );
    if (Math.abs(clock.nowMs() - linkedAtMs) < LINKING_MS) return true;
  }
  return false;
}
