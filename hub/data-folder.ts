/** What a start has to know of dataDir as a whole. */
import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';

/** There while a restore changes dataDir. */
export const RESTORE_UNDER_WAY = 'restore-under-way';

/** Throws {@link StartRefused} where a restore was cut off while parts changed places. */
export async function refuseHalfRestored(dataDir: string): Promise<void> {
  const isHalf = await stat(join(dataDir, RESTORE_UNDER_WAY)).then(
    () => true,
    () => false,
  );
  if (!isHalf) return;
  throw new StartRefused(
    `a restore was cut off in ${resolve(dataDir)}: repeat it with "workbench-hub restore FILE --replace"`,
  );
}

/** Beginning of the name of the folder in which a backup links the contents that it takes. */
export const BACKUP_LINKS = 'backup-';

/** A backup that has linked nothing for so long has linked all, or was killed. */
const LINKING_MS = 60_000;

/** Whether a backup may be about to link contents that were named when it began. */
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
