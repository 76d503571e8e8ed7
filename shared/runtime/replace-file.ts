import { rename } from 'node:fs/promises';
import { setTimeout as elapsed } from 'node:timers/promises';

/** Errors of Windows while a program, such as a virus scanner, has one of the two files open. */
const HELD = ['EPERM', 'EACCES', 'EBUSY'];
const TRIES = 40;
const PAUSE_MS = 250;

/** Renames a file, in place of the one with the new name. On Windows it waits up to 10 s until nobody has them open. */
export async function replaceFile(from: string, to: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await rename(from, to);
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      if (process.platform !== 'win32' || !HELD.includes(code) || tries === TRIES) throw error;
    }
    await elapsed(PAUSE_MS);
  }
}
