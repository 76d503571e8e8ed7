import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { HubConfig } from '../config.js';
import { storageKey } from '../security/storage-key.js';

/** The key of encrypted contents in this folder, which is `dataDir` or holds what a backup has of it; null when there is none
 *  or it cannot be used. */
export async function existingStorageKey(
  { storage }: Pick<HubConfig, 'storage'>,
  folder: string,
): Promise<Buffer | null> {
  // Asking for one that is not there would make it.
  if (storage.encryptionKey === null && !existsSync(join(folder, 'storage-key'))) return null;
  try {
    return await storageKey(storage.encryptionKey, folder);
  } catch (error) {
    if (error instanceof StartRefused) return null;
    throw error;
  }
}
