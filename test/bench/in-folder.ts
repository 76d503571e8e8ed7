import { mkdirSync, rmSync } from 'node:fs';

/** Creates a folder for an action, and removes it afterwards. */
export async function inFolder<T>(folder: string, action: (folder: string) => Promise<T>): Promise<T> {
  mkdirSync(folder);
  try {
    return await action(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
