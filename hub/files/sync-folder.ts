import { open } from 'node:fs/promises';

/** Syncing as it is written leaves little for the last sync, for which the sender waits. */
export const SYNC_EVERY_BYTES = 128 * 1024 * 1024;

/** Makes the names in a folder durable. */
export async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
