/** Key files of several hubs: the rows of the database are the truth, the files of each hub are copies. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { replacePrivateFile } from '@workbench-hub/shared/runtime/private-files';
import { type BeforeReplacing, KEY_FILES, type KeyFiles } from '../../core/ports/key-files.js';
import type { Database } from './pool.js';
import { rowsOf, sql } from './statement.js';

const ALL = sql({}, 'SELECT name, content FROM key_file');
const ADD = sql(
  { name: 'text', content: 'text' },
  'INSERT INTO key_file (name, content) VALUES (:name, :content) ON CONFLICT (name) DO NOTHING',
);
const REPLACE = sql(
  { name: 'text', content: 'text', former: 'text' },
  'UPDATE key_file SET content = :content WHERE name = :name AND content = :former',
);

export function sharedKeyFiles(
  db: Database,
  { dataDir, log }: { readonly dataDir: string; readonly log: Pick<Logger, 'info'> },
): KeyFiles {
  /** Contents at the last call, by file. */
  const shared = new Map<string, string>();
  const rows = async () => {
    const all = await rowsOf<{ name: string; content: string }>(db, ALL, {});
    return new Map(all.map(({ name, content }) => [name, content]));
  };

  /** Brings what is new in the files to the database; true when there was something. */
  async function publish(before: ReadonlyMap<string, string>): Promise<boolean> {
    let isAny = false;
    for (const name of KEY_FILES) {
      const content = await contentOf(join(dataDir, name));
      const row = before.get(name);
      if (content === undefined || content === row) continue;
      const former = shared.get(name);
      if (row === undefined) await rowsOf(db, ADD, { name, content });
      else if (row === former && content !== former) await rowsOf(db, REPLACE, { name, content, former });
      else continue;
      isAny = true;
    }
    return isAny;
  }

  let latest: Promise<void> = Promise.resolve();
  const share = async (beforeReplacing: BeforeReplacing = async () => undefined) => {
    const before = await rows();
    const after = (await publish(before)) ? await rows() : before;
    for (const [name, content] of after) {
      const path = join(dataDir, name);
      const own = await contentOf(path);
      if (own !== content) {
        if (own !== undefined && !shared.has(name)) await beforeReplacing(name, own);
        await replacePrivateFile(path, content);
        log.info({ file: path }, 'took over the key file of the other hubs');
      }
      shared.set(name, content);
    }
  };
  return {
    share: (beforeReplacing) => {
      latest = latest.catch(() => undefined).then(() => share(beforeReplacing));
      return latest;
    },
  };
}

async function contentOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
