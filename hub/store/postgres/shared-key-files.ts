/** Key files of several hubs: the rows of the database are the truth, the files of each hub are copies. With a configured storage key, the
 *  rows are sealed under it; that of the storage key itself is left out. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { replacePrivateFile } from '@workbench-hub/shared/runtime/private-files';
import { type BeforeReplacing, KEY_FILES, type KeyFiles } from '../../core/ports/key-files.js';
import { isSealed, keySeal } from './key-seal.js';
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

const REMOVE = sql({ name: 'text' }, 'DELETE FROM key_file WHERE name = :name');

const STORAGE_KEY = 'storage-key';

export interface SharedKeyFilesOptions {
  readonly dataDir: string;
  /** Whether no other hub is on the database. */
  readonly isAlone: () => boolean;
  /** The configured storage key (Base64); null for none. */
  readonly storageKey: string | null;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

/** A row, and what it holds. */
interface SharedFile {
  readonly row: string;
  readonly content: string;
}

export function sharedKeyFiles(
  db: Database,
  { dataDir, isAlone, storageKey, log }: SharedKeyFilesOptions,
): KeyFiles {
  const seal = keySeal(storageKey === null ? null : Buffer.from(storageKey, 'base64'));
  const names = KEY_FILES.filter((name) => storageKey === null || name !== STORAGE_KEY);
  /** Contents at the last call, by file. */
  const shared = new Map<string, string>();
  const rows = async (): Promise<Map<string, SharedFile>> => {
    const all = await rowsOf<{ name: string; content: string }>(db, ALL, {});
    const known = all.filter(({ name }) => names.some((each) => each === name));
    return new Map(known.map(({ name, content: row }) => [name, { row, content: seal.open(name, row) }]));
  };

  /** Brings what is new in the files to the database; true when there was something. */
  async function publish(before: ReadonlyMap<string, SharedFile>): Promise<boolean> {
    let isAny = false;
    // Hubs without the key must be able to read what is new, too.
    const isClear = !isAlone() && [...before.values()].some(({ row }) => !isSealed(row));
    for (const name of names) {
      const content = await contentOf(join(dataDir, name));
      const known = before.get(name);
      if (content === undefined || content === known?.content) continue;
      const former = shared.get(name);
      const row = isClear ? content : seal.seal(name, content);
      if (known === undefined) await rowsOf(db, ADD, { name, content: row });
      else if (known.content === former && content !== former)
        await rowsOf(db, REPLACE, { name, content: row, former: known.row });
      else continue;
      isAny = true;
    }
    return isAny;
  }

  /** Seals rows of an earlier start without a configured key; other hubs that run may not have it yet. */
  async function sealRows(before: ReadonlyMap<string, SharedFile>): Promise<void> {
    if (storageKey === null) return;
    const open = [...before].filter(([, { row }]) => !isSealed(row));
    if (!isAlone()) {
      if (open.length > 0) log.warn(CLEAR_BESIDE_OTHERS);
      return;
    }
    for (const [name, { row, content }] of open)
      await rowsOf(db, REPLACE, { name, content: seal.seal(name, content), former: row });
    await rowsOf(db, REMOVE, { name: STORAGE_KEY });
    if (open.length > 0) log.info('sealed the keys in the database with storage.encryptionKey');
  }

  /** At the start. */
  async function prepare(): Promise<void> {
    if (storageKey === null) log.warn(CLEAR);
    await sealRows(await rows());
  }

  let isPrepared = false;
  let latest: Promise<void> = Promise.resolve();
  const share = async (beforeReplacing: BeforeReplacing = async () => undefined) => {
    if (!isPrepared) await prepare();
    isPrepared = true;
    const before = await rows();
    const after = (await publish(before)) ? await rows() : before;
    for (const [name, { content }] of after) {
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

const CLEAR =
  'the keys of this hub are in its database in clear: who reads the database can make tokens. Set storage.encryptionKey, the same in all hubs';
const CLEAR_BESIDE_OTHERS =
  'the keys of the hubs are in the database in clear, and are sealed with storage.encryptionKey once all hubs were stopped at the same time';

async function contentOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
