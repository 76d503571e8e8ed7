/** Programs that a caller may run without giving its rights to another user. */
import { lstat, realpath } from 'node:fs/promises';
import { dirname } from 'node:path';

const ROOT = 0;

export interface Caller {
  /** Id of the effective user; undefined on Windows. */
  readonly userId: number | undefined;
  readonly ownerOf: (path: string) => Promise<number>;
}

const PRESENT: Caller = {
  userId: process.geteuid?.(),
  ownerOf: async (path) => (await lstat(path)).uid,
};

/**
 * Real path of a program that belongs to the caller, in folders that the caller or root owns: nobody else can replace it. Null for any
 * other, and on Windows, where an administrator has rights that the owner of a file need not have.
 */
export async function ownProgram(
  program: string,
  { userId, ownerOf }: Caller = PRESENT,
): Promise<string | null> {
  if (userId === undefined) return null;
  try {
    const path = await realpath(program);
    if ((await ownerOf(path)) !== userId) return null;
    for (let at = path; at !== dirname(at); at = dirname(at))
      if (![userId, ROOT].includes(await ownerOf(dirname(at)))) return null;
    return path;
  } catch {
    return null;
  }
}
