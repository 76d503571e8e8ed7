/** A database in whose place an older one was put: at the start of a hub, confirmed work is missing. */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Store } from '@workbench-hub/hub/core/ports/store';
import { hubMetrics } from '@workbench-hub/hub/metrics/hub-metrics';
import {
  acceptLossOfStore,
  checkStore,
  openStore,
  type StoreSettings,
} from '@workbench-hub/hub/store/open-store';
import { SWEEP } from '@workbench-hub/hub/store/postgres/cluster/common/hub-statements';
import { openPool } from '@workbench-hub/hub/store/postgres/connection/pool';
import { rowsOf } from '@workbench-hub/hub/store/postgres/connection/statement';
import { LANE_NAMES } from '@workbench-hub/hub/store/postgres/lanes/lane-names';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { memoryLog } from '../support/memory-log.js';
import { hasPostgres, migratedDatabase, type TestDatabase } from '../support/stores/postgres.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';
import { newTask } from './store-under-test.js';

const TIME = String.raw`20\d\d-\d\d-\d\dT[\d:.]+Z`;

let folder: TemporaryFolder;
let databases: TestDatabase[];
let settings: StoreSettings;

describe.skipIf(!hasPostgres)('a database that an older one replaces', () => {
  beforeEach(async () => {
    folder = await temporaryFolder();
    const database = await migratedDatabase();
    databases = [database];
    settings = { dataDir: folder.path, store: database.url, storePasswordFile: null };
  });
  afterEach(async () => {
    for (const database of databases) await database.drop();
    await folder.remove();
  });

  const open = (of = settings) =>
    openStore(of, {
      ...systemRuntime,
      newId: () => systemRuntime.newId(),
      log: memoryLog().log,
      metrics: hubMetrics(buildInfo).store,
      hub: { version: '' },
      machine: systemRuntime,
      followsServerClock: true,
      blobPlace: async () => null,
    });
  const during = async <T>(work: (store: Store) => Promise<T>, of = settings): Promise<T> => {
    const store = await open(of);
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  };
  const insert = async (store: Store) => {
    const task = newTask();
    await store.queue.insert([task]);
    return task.id;
  };
  /** Settings of a database as this one is now. */
  const copied = async (): Promise<StoreSettings> => {
    const [{ server, name } = {} as TestDatabase] = databases;
    const copy = await server.create(name);
    databases.push(copy);
    return { ...settings, store: copy.url };
  };
  const confirmedWork = async (of: StoreSettings) =>
    (await checkStore(of, systemRuntime)).find(({ check }) => check === 'confirmed work');

  it('is refused with what is missing, until the loss is accepted', async () => {
    const kept = await during(insert);
    const older = await copied();
    const [lost, cursor] = await during(async (store) => {
      const id = await insert(store);
      await insert(store);
      await store.queue.cancel([kept], ['WAITING'], 1);
      return [id, await store.changes.latest()];
    });
    const missing = new RegExp(
      String.raw`^the database postgres://\S+ lacks batches that were confirmed \(2 of new tasks, 1 of ends and other changes of tasks, ` +
        String.raw`and of stored files, the latest at ${TIME}; its latest task was requested at ${TIME}\): an older backup was restored, .*` +
        'to continue without the lost work, run "workbench-hub store accept-loss"$',
    );
    await expect(open(older)).rejects.toThrow(missing);
    await expect(open(older)).rejects.toThrow(missing);
    expect(await confirmedWork(older)).toMatchObject({
      state: 'FAULT',
      message: expect.stringContaining('lacks batches that were confirmed (2 of new tasks, '),
    });
    expect(await confirmedWork(settings)).toMatchObject({ state: 'OK' });

    expect(await acceptLossOfStore(older, systemRuntime)).toMatch(/^batches that were confirmed \(2 of new/);
    expect(await acceptLossOfStore(older, systemRuntime)).toBeUndefined();
    await during(async (store) => {
      expect(await store.archive.find(kept)).toMatchObject({ status: 'WAITING' });
      expect(await store.archive.find(lost)).toBeUndefined();
      // Clients that followed tasks begin anew, for the numbers of changes are used again.
      await insert(store);
      expect(await store.changes.since(cursor, 10)).toBeNull();
    }, older);
    await during(insert, older);
  });

  it('is not missed by a hub that was away for so long that its lanes were removed', async () => {
    await during(insert);
    const cursor = await during((store) => store.changes.latest());
    const [database] = databases as [TestDatabase];
    const { log } = memoryLog();
    const db = openPool({ url: database.url, log });
    const sweepAfter = async (days: number) => {
      await database.query(`UPDATE lane_hub SET seen_at = seen_at - interval '${days} days'`);
      await rowsOf(db, SWEEP, { hubId: 'another' });
    };
    const count = async (table: string) => (await database.query(`SELECT FROM ${table}`)).length;
    try {
      // That others look does not make it one that was seen.
      for (const days of [0, 60, 29]) {
        await sweepAfter(days);
        expect(await count('lane')).toBe(LANE_NAMES.length);
      }
      await sweepAfter(2);
      expect([await count('lane'), await count('task_change'), await count('lane_hub')]).toEqual([0, 0, 1]);
    } finally {
      await db.close();
    }
    expect(await confirmedWork(settings)).toMatchObject({ state: 'OK' });
    await during(async (store) => {
      expect(await store.changes.since(cursor, 10)).toMatchObject({ changes: [], isLast: true });
    });
    const id = await during(insert);
    expect(await during((store) => store.archive.find(id))).toMatchObject({ id });
  });

  /** Changes that a client which followed the lost work gets at a hub that lost nothing and starts first, once the loss is accepted;
   *  null when the client must begin anew. `planted` puts a defect into the older database. */
  const toldAtOther = async (planted: (older: TestDatabase) => Promise<unknown> = async () => undefined) => {
    const other = await temporaryFolder();
    try {
      await during(insert);
      const ofOther = (of: StoreSettings) => ({ ...of, dataDir: other.path });
      await during(insert, ofOther(settings));
      const older = await copied();
      const cursor = await during(async (store) => {
        await insert(store);
        return store.changes.latest();
      });
      expect(await acceptLossOfStore(older, systemRuntime)).toContain('1 of new tasks');
      await planted(databases.at(-1) as TestDatabase);
      return await during(async (store) => {
        await insert(store);
        return store.changes.since(cursor, 10);
      }, ofOther(older));
    } finally {
      await other.remove();
    }
  };

  it('lets clients begin anew at any hub, whichever starts first once the loss is accepted', async () => {
    expect(await toldAtOther()).toBeNull();
  });

  it('would go unnoticed by clients if the former history of changes went on', async () => {
    const goesOn = async (older: TestDatabase) => {
      const [database] = databases as [TestDatabase];
      const [former] = await database.query<{ name: string }>('SELECT name FROM change_history');
      await older.query(`UPDATE change_history SET name = '${former?.name}'`);
    };
    expect(await toldAtOther(goesOn)).not.toBeNull();
  });

  it('is recognized when it is empty', async () => {
    await during(insert);
    const { server } = databases[0] as TestDatabase;
    const empty = await server.create();
    databases.push(empty);
    const other = { ...settings, store: empty.url };
    await expect(open(other)).rejects.toThrow(
      /lacks batches that were confirmed \(1 of new tasks, the latest at \S+; it has no task\)/,
    );
    expect(await acceptLossOfStore(other, systemRuntime)).toContain('it has no task');
    await during(insert, other);
  });

  it('is not accepted while a hub runs, nor changed when nothing is missing', async () => {
    const cursor = await during(async (store) => {
      await insert(store);
      await expect(acceptLossOfStore(settings, systemRuntime)).rejects.toThrow(/is in use: another hub/);
      return store.changes.latest();
    });
    expect(await acceptLossOfStore(settings, systemRuntime)).toBeUndefined();
    await during(async (store) => {
      expect(await store.changes.since(cursor, 10)).toMatchObject({ changes: [], isLast: true });
    });
  });

  it('is not recognized by another data folder, with which changes begin anew', async () => {
    const cursor = await during(async (store) => {
      await insert(store);
      return store.changes.latest();
    });
    await rm(join(folder.path, 'database-confirmed'));
    await during(async (store) => expect(await store.changes.since(cursor, 10)).toBeNull());
  });

  it('is not refused for a file that a loss of power has left empty', async () => {
    await during(insert);
    await writeFile(join(folder.path, 'database-confirmed'), '');
    await during(insert);
  });
});
