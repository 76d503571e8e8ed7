import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { replacePrivateFile } from '@workbench-hub/shared/runtime/private-files';
import { unreadableFile } from '@workbench-hub/shared/runtime/read-own-file';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Identity of this data directory's agent, created once. Rejects with {@link StartRefused} when its file is damaged. */
export async function nodeId(dataDir: string, newId: () => string): Promise<string> {
  const kept = await readNodeId(dataDir);
  if (kept !== undefined) return kept;
  const made = newId();
  await replacePrivateFile(fileIn(dataDir), `${made}\n`);
  return made;
}

/** The identity; undefined before the first start. Rejects with {@link StartRefused} when the file is damaged or unreadable. */
export async function readNodeId(dataDir: string): Promise<string | undefined> {
  const file = fileIn(dataDir);
  let kept: string;
  try {
    kept = (await readFile(file, 'utf8')).trim();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw unreadableFile(file, error);
  }
  if (UUID.test(kept)) return kept;
  throw new StartRefused(`${file} does not hold an identifier: remove it, and the agent makes a new one`);
}

function fileIn(dataDir: string): string {
  return join(dataDir, 'node-id');
}
