/** Key files of several hubs: the rows of the database are the truth, the files of each hub are copies. The rows are sealed under the storage
 *  key, which is in no row; those of databases from before that are in clear until `storage.encryptionKey` is set (decision 0078). */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { replacePrivateFile } from '@workbench-hub/shared/runtime/private-files';
import { type BeforeReplacing, KEY_FILES, type KeyFiles } from '../../../core/ports/key-files.js';
import type { Database } from '../connection/pool.js';
import { rowsOf, sql } from '../connection/statement.js';
import { isSealed, type KeySeal, keySeal, sealedWithout } from './key-seal.js';

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
/** Row that is sealed before any other: of hubs that start at the same time with different keys, one seals. */
const SEAL = 'seal';

export interface SharedKeyFilesOptions {
  readonly dataDir: string;
  /** Whether no other hub is on the database. */
  readonly isAlone: () => boolean;
  /** The configured storage key (Base64); null for the one in `dataDir`. */
  readonly storageKey: string | null;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

/** A row, and what it holds. */
interface SharedFile {
  readonly row: string;
  readonly content: string;
}

/** The rows at one time. */
interface SharedRows {
  readonly files: ReadonlyMap<string, SharedFile>;
  /** Row with nothing but the seal. */
  readonly sealRow: string | undefined;
  /** Undefined before the hub has a storage key. */
  readonly seal: KeySeal | undefined;
  /** Whether a row is in clear, from before rows were sealed. */
  readonly isClear: boolean;
}

export class SharedKeyFiles implements KeyFiles {
  readonly #db: Database;
  readonly #options: SharedKeyFilesOptions;
  /** Contents at the last call, by file. */
  readonly #shared = new Map<string, string>();
  /** Files whose rows were removed while this hub ran. */
  readonly #withdrawn = new Set<string>();
  #isPrepared = false;
  #latest: Promise<void> = Promise.resolve();

  constructor(db: Database, options: SharedKeyFilesOptions) {
    this.#db = db;
    this.#options = options;
  }

  share(beforeReplacing: BeforeReplacing = async () => undefined): Promise<void> {
    this.#latest = this.#latest.catch(() => undefined).then(() => this.#share(beforeReplacing));
    return this.#latest;
  }

  async #share(beforeReplacing: BeforeReplacing): Promise<void> {
    const { dataDir, log } = this.#options;
    if (!this.#isPrepared) await this.#sealAgain(await this.#rows());
    this.#isPrepared = true;
    const before = await this.#rows();
    const { files } = (await this.#publish(before)) ? await this.#rows() : before;
    for (const [name, { content }] of files) {
      const path = join(dataDir, name);
      const own = await contentOf(path);
      if (own !== content) {
        if (own !== undefined && !this.#shared.has(name)) await beforeReplacing(name, own);
        await replacePrivateFile(path, content);
        log.info({ file: path }, 'took over the key file of the other hubs');
      }
      this.#shared.set(name, content);
      this.#withdrawn.delete(name);
    }
  }

  #rows(): Promise<SharedRows> {
    return sharedRows(this.#db, this.#options);
  }

  /** Brings what is new in the files to the database; true when there was something. */
  async #publish({ files, sealRow, seal, isClear }: SharedRows): Promise<boolean> {
    const { dataDir, isAlone, storageKey } = this.#options;
    // Hubs without the key must be able to read what is new, too.
    const staysClear = isClear && (storageKey === null || !isAlone());
    const usedSeal = staysClear ? undefined : seal;
    if (!staysClear && !usedSeal) return false;
    if (usedSeal && sealRow === undefined) {
      await rowsOf(this.#db, ADD, { name: SEAL, content: usedSeal.seal(SEAL, '') });
      await this.#rows();
    }
    let isAny = false;
    for (const name of KEY_FILES) {
      if (name === STORAGE_KEY && !(staysClear && storageKey === null)) continue;
      const content = await contentOf(join(dataDir, name));
      const file = { name, content, former: this.#shared.get(name), known: files.get(name) };
      if (await this.#publishFile(file, usedSeal)) isAny = true;
    }
    return isAny;
  }

  async #publishFile(file: OwnFile, seal: KeySeal | undefined): Promise<boolean> {
    if (!isWithdrawn(file)) return publishFile(this.#db, file, seal);
    const { dataDir, log } = this.#options;
    if (!this.#withdrawn.has(file.name)) log.warn({ file: join(dataDir, file.name) }, WITHDRAWN);
    this.#withdrawn.add(file.name);
    return false;
  }

  /** Seals, with the configured key, the rows of an earlier start that had none; other hubs that run may not have it yet. */
  async #sealAgain({ files, sealRow, seal, isClear }: SharedRows): Promise<void> {
    const { isAlone, storageKey, log } = this.#options;
    if (isClear && storageKey === null) log.warn(CLEAR);
    if (!seal || storageKey === null) return;
    if (!isAlone()) {
      if (isClear) log.warn(CLEAR_BESIDE_OTHERS);
      return;
    }
    const sealed = await sealOthers(this.#db, files, seal);
    if (sealRow !== undefined && !seal.isOwn(SEAL, sealRow))
      await rowsOf(this.#db, REPLACE, { name: SEAL, content: seal.seal(SEAL, ''), former: sealRow });
    await rowsOf(this.#db, REMOVE, { name: STORAGE_KEY });
    if (sealed > 0) log.info('sealed the keys in the database with storage.encryptionKey');
  }
}

/** A key file of this hub, and what it was. */
interface OwnFile {
  readonly name: string;
  /** Undefined for a file that does not exist. */
  readonly content: string | undefined;
  /** Content at the last call. */
  readonly former: string | undefined;
  /** The row of the database. */
  readonly known: SharedFile | undefined;
}

/** Whether somebody removed the row of a file, which was not changed here, in order to have it replaced. */
function isWithdrawn({ content, former, known }: OwnFile): boolean {
  return known === undefined && former !== undefined && content === former;
}

/** Brings a file to the database if it is new there, or was changed here alone; true when it was. Without a seal, in clear. */
async function publishFile(
  db: Database,
  { name, content, former, known }: OwnFile,
  seal: KeySeal | undefined,
): Promise<boolean> {
  if (content === undefined || content === known?.content) return false;
  const row = seal ? seal.seal(name, content) : content;
  if (known === undefined) {
    await rowsOf(db, ADD, { name, content: row });
    return true;
  }
  if (known.content !== former) return false;
  await rowsOf(db, REPLACE, { name, content: row, former: known.row });
  return true;
}

/** Seals rows that are in clear or sealed with other keys; resolves with their number. */
async function sealOthers(db: Database, files: SharedRows['files'], seal: KeySeal): Promise<number> {
  const others = [...files].filter(([name, { row }]) => !seal.isOwn(name, row));
  for (const [name, { row, content }] of others)
    await rowsOf(db, REPLACE, { name, content: seal.seal(name, content), former: row });
  return others.length;
}

/** Reads all rows, and opens them. Throws `StartRefused` without the key that sealed them. */
async function sharedRows(
  db: Database,
  { dataDir, storageKey, isAlone }: Omit<SharedKeyFilesOptions, 'log'>,
): Promise<SharedRows> {
  const seal = await sealOf(dataDir, storageKey, isAlone());
  const all = await rowsOf<{ name: string; content: string }>(db, ALL, {});
  const known = all.filter(({ name }) => name === SEAL || KEY_FILES.some((each) => each === name));
  const isClear = known.some(({ content }) => !isSealed(content));
  const opened = known.map(({ name, content: row }): [string, SharedFile] => {
    if (isSealed(row) && !seal) throw sealedWithout(name);
    return [name, { row, content: seal?.open(name, row) ?? row }];
  });
  const files = new Map(opened);
  const sealRow = files.get(SEAL)?.row;
  files.delete(SEAL);
  if (!isClear || storageKey !== null) files.delete(STORAGE_KEY);
  return { files, sealRow, seal, isClear };
}

/** Seal with the storage keys of the hub. Other hubs do not have the file of one that has a configured key. */
async function sealOf(
  dataDir: string,
  configured: string | null,
  isAlone: boolean,
): Promise<KeySeal | undefined> {
  const ofFile = configured === null || isAlone ? await contentOf(join(dataDir, STORAGE_KEY)) : undefined;
  const [first, ...others] = [configured, ofFile]
    .filter((key) => typeof key === 'string')
    .map((key) => Buffer.from(key.trim(), 'base64'));
  return first && keySeal([first, ...others]);
}

const CLEAR =
  'the keys of this hub are in its database in clear, from an earlier version: who reads the database can make tokens. Set storage.encryptionKey, the same in all hubs';
const WITHDRAWN =
  'the row of this key file was removed from the database: this hub does not add it again, and takes over that of the next hub that starts';
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
