/** What a start has to know of dataDir as a whole. */
import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';

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
