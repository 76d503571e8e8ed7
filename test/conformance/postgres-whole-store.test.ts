/** The suite of whole stores on PostgreSQL, as the hub opens it, and the maintenance of a damaged one. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { openStore, storeMaintenance } from '@workbench-hub/hub/store/open-store';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { memoryLog } from '../support/memory-log.js';
import { emptyDatabase, hasPostgres, type TestDatabase } from '../support/stores/postgres.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';
import { digestOf, fileOf, newTask } from './store-under-test.js';
import { describeWholeStore, type WholeStoreUnderTest } from './whole-store-suite.js';

let folder: TemporaryFolder;

/** The data folder is that of one hub on this database. */
const settingsOf = ({ url }: TestDatabase) => ({
  dataDir: join(folder.path, new URL(url).pathname),
  store: url,
  storePasswordFile: null,
});

async function openOn(database: TestDatabase) {
  const metrics = { written: () => undefined, synced: () => undefined, failed: () => undefined };
  const { clock, timers, newId } = systemRuntime;
  const settings = settingsOf(database);
  mkdirSync(settings.dataDir, { recursive: true });
  return openStore(settings, {
    clock,
    timers,
    newId,
    log: memoryLog().log,
    metrics,
    hub: { version: '' },
    machine: systemRuntime,
    followsServerClock: true,
    blobPlace: async () => null,
  });
}

async function open(): Promise<WholeStoreUnderTest> {
  const [database, unused] = [await emptyDatabase(), await emptyDatabase()];
  const store = await openOn(database);
  let isClosed = false;
  const close = async () => {
    if (!isClosed) await store.close();
    isClosed = true;
  };
  return {
    store: { ...store, close },
    maintenance: storeMaintenance(settingsOf(database)),
    unused: storeMaintenance(settingsOf(unused)),
    remove: async () => {
      await close();
      await database.drop();
      await unused.drop();
    },
  };
}

describe.skipIf(!hasPostgres)('PostgreSQL: whole store', () => {
  beforeEach(async () => {
    folder = await temporaryFolder();
  });
  afterEach(() => folder.remove());
  describeWholeStore(open);

  describe('the maintenance of a damaged database', () => {
    it('names tasks that are there in part, and changed inline blobs', async () => {
      const database = await emptyDatabase();
      onTestFinished(() => database.drop());
      const store = await openOn(database);
      const model = { kind: 'BLOB', path: 'model.x', ...fileOf('model') } as const;
      const job = {
        type: 'EXECUTE_BATCH_JOB',
        model,
        scripts: [],
        additionalFiles: [],
        variables: [],
      } as const;
      await store.queue.insert([newTask(), newTask({ type: 'EXECUTE_BATCH_JOB', job })]);
      await store.inlineBlobs.put(digestOf('blob'), Buffer.from('blob'), 5);
      await store.close();
      await database.query('DELETE FROM task WHERE seq = 2');
      await database.query('DELETE FROM task_request WHERE task_seq = 1');
      const maintenance = storeMaintenance(settingsOf(database));
      const [quick] = await maintenance.inspect({ quick: true });
      expect(quick).toMatchObject({ faults: [] });
      const [whole] = await maintenance.inspect({ quick: false });
      expect(whole).toMatchObject({
        faults: [
          'task 1 lacks some of its rows',
          'task 2 lacks some of its rows',
          'files belong to task 2, which is not there',
        ],
      });
      expect(await maintenance.damagedInlineBlobs()).toEqual([digestOf('blob')]);
    });

    it('says why a database cannot be read', async () => {
      const away = storeMaintenance({
        dataDir: '/nowhere',
        store: 'postgres://hub:secret@127.0.0.1:1/hub',
        storePasswordFile: null,
      });
      expect(await away.inspect({ quick: true })).toEqual([
        {
          title: 'database of tasks and users',
          location: 'postgres://hub@127.0.0.1:1/hub',
          unreadable: expect.stringContaining('cannot be used: connect ECONNREFUSED'),
        },
      ]);
      await expect(away.exists()).rejects.toThrow('cannot be used: connect ECONNREFUSED');
      expect(() => away.files()).toThrow('pg_dump');
    });
  });
});
