import { readFile } from 'node:fs/promises';
import { StartRefused } from './run-program.js';

/** Text of a file of dataDir that exists. Rejects with {@link StartRefused}, which names the file, when it cannot be read. */
export async function readOwnFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw unreadableFile(path, error);
  }
}

/** Refusal for a file that cannot be read; the error of a read does not name the file. */
export function unreadableFile(path: string, error: unknown): StartRefused {
  const { code } = error as NodeJS.ErrnoException;
  const why = code === 'EISDIR' ? 'it is a folder' : `${code}`;
  return new StartRefused(
    `${path} cannot be read (${why}): correct its rights, or remove what is in its place`,
    {
      cause: error,
    },
  );
}
