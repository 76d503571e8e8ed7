import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PRIVATE_FILE_MODE } from '@workbench-hub/shared/runtime/private-files';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Identity of this data directory's agent, created once. */
export async function nodeId(dataDir: string, newId: () => string): Promise<string> {
  const file = join(dataDir, 'node-id');
  let kept: string;
  try {
    kept = (await readFile(file, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    const made = newId();
    await writeFile(`${file}.new`, `${made}\n`, { mode: PRIVATE_FILE_MODE });
    await rename(`${file}.new`, file);
    return made;
  }
  if (UUID.test(kept)) return kept;
  throw new StartRefused(`${file} does not hold an identifier: remove it, and the agent makes a new one`);
}
