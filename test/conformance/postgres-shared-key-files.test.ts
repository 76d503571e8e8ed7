/** Key files of two hubs on a database, of which one is replaced. */
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Database, openPool } from '@workbench-hub/hub/store/postgres/connection/pool';
import { SharedKeyFiles } from '@workbench-hub/hub/store/postgres/objects/shared-key-files';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LOG_LEVEL, type MemoryLog, memoryLog } from '../support/memory-log.js';
import { hasPostgres, migratedDatabase, type TestDatabase } from '../support/stores/postgres.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const FILE = 'token-keys.json';
const LEAKED = 'a key that somebody has read';
const STORAGE_KEY = randomBytes(32).toString('base64');

describe.runIf(hasPostgres)('a key file of hubs on a database', () => {
  let folder: TemporaryFolder;
  let test: TestDatabase;
  let database: Database;
  let memory: MemoryLog;
  let a: SharedKeyFiles;
  let b: SharedKeyFiles;

  beforeEach(async () => {
    folder = await temporaryFolder();
    test = await migratedDatabase();
    database = openPool({ url: test.url, log: null });
    memory = memoryLog();
    for (const name of ['a', 'b']) await mkdir(join(folder.path, name));
    a = started('a');
    b = started('b');
    await write('a', LEAKED);
    await a.share();
    await b.share();
    expect(await contentAt('b')).toBe(LEAKED);
  });
  afterEach(async () => {
    await database.close();
    await test.drop();
    await folder.remove();
  });

  function started(name: string): SharedKeyFiles {
    return new SharedKeyFiles(database, {
      dataDir: join(folder.path, name),
      isAlone: () => false,
      storageKey: STORAGE_KEY,
      log: memory.log,
    });
  }
  const pathAt = (name: string) => join(folder.path, name, FILE);
  const contentAt = (name: string) => readFile(pathAt(name), 'utf8');
  const write = (name: string, content: string) => writeFile(pathAt(name), content, { mode: 0o600 });
  const removeRow = () => test.query('DELETE FROM key_file WHERE name = $1', [FILE]);
  const rows = () => test.query('SELECT content FROM key_file WHERE name = $1', [FILE]);
  const warnings = () => memory.lines.filter(({ level }) => level === LOG_LEVEL.WARN);

  it('whose row was removed is not brought back by a hub that runs, which takes over its successor', async () => {
    await removeRow();
    await b.share();
    await b.share();
    expect(await rows()).toEqual([]);
    expect(warnings()).toMatchObject([{ file: pathAt('b'), msg: expect.stringMatching(/row .* removed/) }]);

    await rm(pathAt('a'));
    const again = started('a');
    await again.share();
    await write('a', 'a new key');
    await again.share();
    await b.share();
    expect(await contentAt('b')).toBe('a new key');

    await removeRow();
    await b.share();
    expect(warnings()).toHaveLength(2);
  });

  it('whose row was removed is that of all hubs again when a command has changed it', async () => {
    await removeRow();
    await b.share();
    await write('b', 'a rotated key');
    await b.share();
    await a.share();
    expect(await contentAt('a')).toBe('a rotated key');
  });
});
