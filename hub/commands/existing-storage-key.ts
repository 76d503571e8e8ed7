import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { HubConfig } from '../config.js';
import { storageKey } from '../security/storage-key.js';

/** The key of encrypted blobs in this folder, which is `dataDir` or an unpacked backup; null when there is none or it
 *  is unusable. */
export async function existingStorageKey(
  { storage }: Pick<HubConfig, 'storage'>,
  folder: string,
): Promise<Buffer | null> {
  // Reading a missing key would create it.
  if (storage.encryptionKey === null && !existsSync(join(folder, 'storage-key'))) return null;
  try {
    return await storageKey(storage.encryptionKey, folder);
  } catch (error) {
    if (error instanceof StartRefused) return null;
    throw error;
  }
}
