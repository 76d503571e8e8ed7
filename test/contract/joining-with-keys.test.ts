/** A hub that joins the database of others with a storage key of its own. */
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningHub, startHub } from '../support/hubs/running-hub.js';
import { Api } from '../support/interface/api.js';
import { formWithFile } from '../support/interface/forms.js';
import { hasPostgres, migratedDatabase, type TestDatabase } from '../support/stores/postgres.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const UPLOAD = '/api/2.0/storage/input/upload';
const CONTENT = 'gearbox, in confidence';

describe.runIf(hasPostgres)('a hub that joins others whose keys are in clear', () => {
  let folder: TemporaryFolder;
  let database: TestDatabase;
  let first: RunningHub;

  beforeAll(async () => {
    folder = await temporaryFolder();
    database = await migratedDatabase();
    // As hubs of an earlier version share their key.
    const key = randomBytes(32).toString('base64');
    await database.query(`INSERT INTO key_file (name, content) VALUES ('storage-key', '${key}')`);
    first = await startHub({ config: onDatabase() });
  });
  afterAll(async () => {
    await first?.stop();
    await database?.drop();
    await folder?.remove();
  });

  const onDatabase = () => ({ store: database.url, storage: { folder: join(folder.path, 'blobs') } });
  const keyIn = (dataDir: string) => readFile(join(dataDir, 'storage-key'), 'utf8');
  const read = async (hub: RunningHub) => (await new Api(hub).get('/api/x/storage/inputs/secret.txt')).text;

  async function onFiles<T>(
    dataDir: string,
    use: (hub: RunningHub) => Promise<T>,
    storage: { folder?: string } = {},
  ): Promise<T> {
    const hub = await startHub({ dataDir, config: { store: 'sqlite', storage } });
    try {
      return await use(hub);
    } finally {
      await hub.stop();
    }
  }

  it.each<[string, boolean]>([
    ['its dataDir', false],
    ['storage.folder', true],
  ])(
    'is refused while files in %s are encrypted with it, which it reads afterwards as before',
    async (at, isCommon) => {
      const dataDir = join(folder.path, at);
      const storage = isCommon ? onDatabase().storage : {};
      const upload = async (hub: RunningHub) => {
        const body = formWithFile('secret.txt', CONTENT);
        const { status } = await new Api(hub).call('POST', `${UPLOAD}?encrypt=true`, body);
        expect(status).toBe(204);
      };
      await onFiles(dataDir, upload, storage);
      const key = await keyIn(dataDir);
      await expect(startHub({ dataDir, config: onDatabase() })).rejects.toThrow(
        /storage-key differs from that of the hubs on this database, and .*\.sealed is encrypted with it: .*another dataDir/,
      );
      expect(await keyIn(dataDir)).toBe(key);
      expect(await onFiles(dataDir, read, storage)).toBe(CONTENT);
    },
  );

  it('keeps a copy of it when it takes over that of the others', async () => {
    const dataDir = join(folder.path, 'without-files');
    await onFiles(dataDir, async () => undefined);
    const key = await keyIn(dataDir);
    const joined = await startHub({ dataDir, config: onDatabase() });
    await joined.stop();
    expect(await keyIn(dataDir)).toBe(await keyIn(first.config.dataDir));
    expect(await readFile(join(dataDir, 'storage-key.former'), 'utf8')).toBe(key);
  });
});
