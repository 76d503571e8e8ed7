import { open } from 'node:fs/promises';

/** The last sync of a large file has little left to do: its sender waits for it. */
export const SYNC_EVERY_BYTES = 128 * 1024 * 1024;

/** Makes the names in a folder safe against the loss of power. */
export async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
