/** Opening of the store on PostgreSQL for a hub, and for commands beside it. */
import { writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { hubMetrics } from '@workbench-hub/hub/metrics/hub-metrics';
import {
  checkStore,
  migrateStore,
  openAccountStore,
  openStore,
  type StoreSettings,
  storeMaintenance,
} from '@workbench-hub/hub/store/open-store';
import { openPool } from '@workbench-hub/hub/store/postgres/connection/pool';
import { migrate } from '@workbench-hub/hub/store/postgres/schema/migrate';
import { MIGRATIONS } from '@workbench-hub/hub/store/postgres/schema/schema';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { memoryLog } from '../support/memory-log.js';
import { emptyDatabase, hasPostgres, holdLocks, type TestDatabase } from '../support/stores/postgres.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';
import { userRecord } from './account-store-under-test.js';
import { claim, newTask } from './store-under-test.js';

let test: TestDatabase;
let dataFolder: TemporaryFolder;

describe.skipIf(!hasPostgres)('the store on PostgreSQL', () => {
  beforeEach(async () => {
    test = await emptyDatabase();
    dataFolder = await temporaryFolder();
  });
  afterEach(async () => {
    await test.drop();
    await dataFolder.remove();
  });

  const settings = (rest: Partial<StoreSettings> = {}): StoreSettings => ({
    dataDir: dataFolder.path,
    store: test.url,
    storePasswordFile: null,
    ...rest,
  });
  const { clock, timers, newId } = systemRuntime;
  const open = (rest: Partial<StoreSettings> = {}) =>
    openStore(settings(rest), {
      clock,
      timers,
      newId,
      log: memoryLog().log,
      metrics: hubMetrics(buildInfo).store,
      hub: { version: '' },
      machine: systemRuntime,
      followsServerClock: true,
      blobPlace: async () => null,
    });

  it('keeps what it was given, over a restart', async () => {
    const store = await open();
    const task = newTask();
    await store.queue.insert([task]);
    await store.accounts.users.add(userRecord());
    await store.close();
    const again = await open();
    expect(await again.archive.find(task.id)).toMatchObject({ id: task.id, status: 'WAITING' });
    expect(await again.accounts.users.find('anna')).toEqual(userRecord());
    await again.close();
  });

  it('is refused to a second hub that would not find the blobs of the first, in words', async () => {
    const store = await open();
    const other = await temporaryFolder();
    onTestFinished(other.remove);
    await expect(open()).rejects.toThrow(/^the data folder \S+ is in use: another hub runs with the same/);
    await expect(open({ dataDir: other.path })).rejects.toThrow(
      /^the hub [0-9a-f]{12} runs on the same database and has its blobs in its dataDir, this one in its dataDir: several hubs need/,
    );
    expect(await storeMaintenance(settings()).isInUse()).toBe(true);
    await store.close();
    expect(await storeMaintenance(settings()).isInUse()).toBe(false);
  });

  it('shares its accounts with commands beside the hub', async () => {
    const store = await open();
    const command = await openAccountStore(settings(), systemRuntime);
    await command.users.add(userRecord());
    await command.close();
    expect(await store.accounts.users.all()).toEqual([userRecord()]);
    await store.close();
  });

  it('can be migrated by a command before the first start, once', async () => {
    expect((await migrateStore(settings(), systemRuntime)).done).toContain('0100-accounts');
    expect(await migrateStore(settings(), systemRuntime)).toEqual({ done: [], waitsFor: [] });
    const findings = await checkStore(settings(), systemRuntime);
    expect(findings.find(({ check }) => check === 'tables')).toMatchObject({ state: 'OK' });
  });

  it('works with the rights that the page names, on tables of another role in the first schema of its path', async () => {
    const user = { name: `hub_${test.name}`, password: 'pw' };
    await test.query(`CREATE ROLE ${user.name} LOGIN PASSWORD 'pw'`);
    await test.query(`CREATE SCHEMA own; ALTER DATABASE ${test.name} SET search_path = own, public`);
    const ofHub = { store: test.server.url(test.name, user) };
    try {
      await test.query(`GRANT USAGE ON SCHEMA own TO ${user.name}`);
      await expect(open(ofHub)).rejects.toThrow(/permission denied for schema own/);
      await migrateStore(settings(), systemRuntime);
      const schemas = "SELECT DISTINCT schemaname AS name FROM pg_tables WHERE tableowner = 'postgres'";
      const names = (await test.query(schemas)).map(({ name }) => name);
      expect(names).toContain('own');
      expect(names).not.toContain('public');
      await test.query(`
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA own TO ${user.name};
        GRANT USAGE ON ALL SEQUENCES IN SCHEMA own TO ${user.name}`);
      const store = await open(ofHub);
      const [running, canceled] = [newTask(), newTask()];
      await store.queue.insert([running, canceled]);
      expect(await claim(store, running.id)).toMatchObject({ taskId: running.id });
      expect(await store.queue.cancel([canceled.id], ['WAITING'], 1)).toEqual([true]);
      await store.accounts.users.add(userRecord());
      await store.close();
    } finally {
      await test.query(`DROP OWNED BY ${user.name}; DROP ROLE ${user.name}`);
    }
  });

  it('opens as many connections as the page says, under the name of its host, and commands open two', async () => {
    const store = await open();
    const command = await openAccountStore(settings(), systemRuntime);
    const release = await holdLocks(test.url, 'LOCK TABLE hub_user IN ACCESS EXCLUSIVE MODE');
    const reads = [store, { accounts: command }].flatMap(({ accounts }) =>
      Array.from({ length: 30 }, () => accounts.users.find('anna').catch(() => undefined)),
    );
    await expect
      .poll(() =>
        test.query(
          `SELECT application_name AS name, count(*)::int AS connections FROM pg_stat_activity
           WHERE datname = current_database() AND application_name LIKE 'workbench-hub%' GROUP BY 1 ORDER BY 2`,
        ),
      )
      .toEqual([
        { name: 'workbench-hub command', connections: 2 },
        { name: `workbench-hub ${hostname()}`, connections: 10 + 1 + 1 },
      ]);
    await release();
    await Promise.all(reads);
    await command.close();
    await store.close();
  });

  it('takes the password of its user from a file', async () => {
    const folder = await temporaryFolder();
    onTestFinished(folder.remove);
    const file = join(folder.path, 'password');
    const url = new URL(test.url);
    await writeFile(file, `${url.password}\n`);
    url.password = '';
    await expect(open({ store: url.href })).rejects.toThrow(
      /password authentication failed for user "postgres"/,
    );
    await (await open({ store: url.href, storePasswordFile: file })).close();
    const missing = join(folder.path, 'missing');
    await expect(open({ store: url.href, storePasswordFile: missing })).rejects.toThrow(
      `storePasswordFile: ${missing} does not exist: correct the path, or the rights of the file`,
    );
  });

  it.each([
    [
      'SET synchronous_commit = off',
      /cannot be used: durability: synchronous_commit is off: a crash of the server loses tasks/,
    ],
    [
      'SET default_transaction_read_only = on',
      /cannot be used: writing: default_transaction_read_only is on/,
    ],
    [
      "SET default_transaction_isolation = 'serializable'",
      /cannot be used: isolation: default_transaction_isolation is serializable/,
    ],
  ])('is refused with ALTER DATABASE … %s', async (setting, words) => {
    await test.query(`ALTER DATABASE ${test.name} ${setting}`);
    await expect(open()).rejects.toThrow(words);
    expect(await storeMaintenance(settings()).isInUse()).toBe(false);
  });

  it('of an older hub is brought up to date at the start, with its tasks', async () => {
    const older = openPool({ url: test.url, log: null });
    const migrations = MIGRATIONS.filter(({ id }) => id < '0004' || id >= '0100');
    await migrate(older, migrations, { timers, holder: 'older' });
    await test.query(
      "INSERT INTO lane (hub, name, incarnation, changes) VALUES ('hub', 'insert', 'older', 1)",
    );
    await test.query('INSERT INTO task_change (lane_id, first, changes) VALUES (1, 1, \'["gone"]\')');
    await older.close();
    const store = await open();
    const cursor = await store.changes.latest();
    const task = newTask();
    await store.queue.insert([task]);
    const [{ name } = { name: '' }] = await test.query<{ name: string }>('SELECT name FROM change_history');
    // The cursors of that version named lanes.
    for (const former of [`${name}.0`, `${name}.1_1`])
      expect(await store.changes.since(former, 10)).toBeNull();
    expect((await store.changes.since(cursor, 10))?.changes.map(({ taskId }) => taskId)).toEqual([task.id]);
    await store.close();
  });

  it('is refused when a newer hub has migrated it', async () => {
    await migrateStore(settings(), systemRuntime);
    await test.query("INSERT INTO schema_migration (id) VALUES ('0999-later')");
    await expect(open()).rejects.toThrow(/^a newer hub has migrated the database .* \(0999-later\)/);
    await expect(openAccountStore(settings(), systemRuntime)).rejects.toThrow(/^a newer hub/);
  });

  it('without a server is refused within seconds', async () => {
    await expect(open({ store: 'postgres://hub:secret@127.0.0.1:1/hub' })).rejects.toThrow(
      'the database postgres://hub@127.0.0.1:1/hub cannot be used: connect ECONNREFUSED 127.0.0.1:1; start PostgreSQL, correct store, or let connections through the firewall',
    );
  });
});
