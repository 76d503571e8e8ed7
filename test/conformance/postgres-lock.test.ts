/** The lock that keeps a second hub from a database on PostgreSQL. */
import { type HubLock, lockDatabase } from '@workbench-hub/hub/store/postgres/connection/hub-lock';
import { type Connection, openPool, statement } from '@workbench-hub/hub/store/postgres/connection/pool';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../support/eventually.js';
import { memoryLog } from '../support/memory-log.js';
import { emptyDatabase, hasPostgres, type TestDatabase } from '../support/stores/postgres.js';
import { PostgresProxy } from '../support/stores/postgres-proxy.js';

const { timers } = systemRuntime;

let test: TestDatabase;
let ends: (() => Promise<unknown>)[];

describe.skipIf(!hasPostgres)('the lock of a database', () => {
  beforeEach(async () => {
    ends = [];
    test = await emptyDatabase();
  });
  afterEach(async () => {
    for (const end of ends.reverse()) await end();
    await test.drop();
  });

  async function lock(
    url = test.url,
    applicationName = 'workbench-hub one',
    mode: 'SHARED' | 'ALONE' = 'ALONE',
  ) {
    const { log, lines } = memoryLog();
    const database = openPool({ url, log, applicationName });
    ends.push(() => database.close());
    const taken: Error[] = [];
    const held: HubLock = await lockDatabase(database, {
      timers,
      log,
      mode,
      onTaken: (refusal) => void taken.push(refusal),
    });
    ends.push(() => held.release());
    return { held, taken, lines };
  }
  const holders = async () =>
    (
      await test.query<{ pid: number }>(
        `SELECT pid FROM pg_locks WHERE locktype = 'advisory'
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      )
    ).map(({ pid }) => pid);

  it('refuses whoever must be alone while a hub runs, and names the hub', async () => {
    const { held } = await lock();
    await expect(lock()).rejects.toThrow(
      /^the database postgres:\/\/postgres@127\.0\.0\.1:\d+\/test_\w+ is in use: another hub \(workbench-hub one, from 127\.0\.0\.1, since 20\d\d-\d\d-\d\dT[\d:]+Z\) runs on it; stop that hub first$/,
    );
    await held.release();
    await lock();
  });

  it('is shared by hubs, and refused to whoever must be alone', async () => {
    const { held } = await lock(test.url, 'workbench-hub one', 'SHARED');
    const { held: other } = await lock(test.url, 'workbench-hub two', 'SHARED');
    await held.release();
    await expect(lock()).rejects.toThrow(/is in use: another hub \(workbench-hub two, /);
    await other.release();
    await lock(test.url, 'workbench-hub command');
    await expect(lock(test.url, 'workbench-hub one', 'SHARED')).rejects.toThrow(
      /is in use: a command \(workbench-hub command, .* works on it alone; start the hub when it has ended$/,
    );
  });

  it('is that of a connection whose loss the server notices within half a minute', async () => {
    const { log } = memoryLog();
    const database = openPool({ url: test.url, log });
    ends.push(() => database.close());
    const connections: Connection[] = [];
    const connect = async () => {
      const connection = await database.connect();
      connections.push(connection);
      return connection;
    };
    const options = { timers, log, mode: 'SHARED', onTaken: () => undefined } as const;
    const held = await lockDatabase({ ...database, connect }, options);
    ends.push(() => held.release());
    const seconds = statement(`
      SELECT current_setting('tcp_keepalives_idle')::int + current_setting('tcp_keepalives_interval')::int *
        current_setting('tcp_keepalives_count')::int AS noticed, current_setting('tcp_keepalives_count')::int AS probes`);
    for (const connection of connections) {
      const [row] = await connection.rows<{ noticed: number; probes: number }>(seconds);
      expect(row?.probes).toBeGreaterThan(0);
      expect(row?.noticed).toBeLessThanOrEqual(30);
    }
    expect(connections).toHaveLength(1);
  });

  it('waits for a hub that is just ending', async () => {
    const { held } = await lock();
    const second = lock();
    timers.after(500, () => void held.release());
    await second;
  });

  it('is taken again when the server ends its connection', async () => {
    const { taken, lines } = await lock();
    const [pid] = await holders();
    await test.query('SELECT pg_terminate_backend($1)', [pid]);
    await eventually(async () => {
      const [now] = await holders();
      return now !== undefined && now !== pid;
    });
    await expect(lock()).rejects.toThrow('is in use');
    expect(taken).toEqual([]);
    expect(lines.map(({ msg }) => msg)).toContain(
      'the connection that locks the database broke; it is opened again',
    );
  });

  it('is taken again when the server has not noticed that the connection broke', async () => {
    const proxy = await PostgresProxy.listen(test.server.port);
    onTestFinished(() => proxy.close());
    const { taken } = await lock(proxy.through(test.url));
    const [pid] = await holders();
    proxy.cut({ tellsServer: false });
    await eventually(async () => {
      const now = await holders();
      return now.length === 1 && now[0] !== pid;
    });
    expect(taken).toEqual([]);
  });

  it('ends the hub that lost it to another one while it was cut off', async () => {
    const proxy = await PostgresProxy.listen(test.server.port);
    onTestFinished(() => proxy.close());
    const { taken } = await lock(proxy.through(test.url));
    proxy.accept(false);
    proxy.cut();
    await eventually(async () => (await holders()).length === 0);
    await lock(test.url, 'workbench-hub two');
    expect(taken).toEqual([]);
    proxy.accept(true);
    await eventually(() => taken.length === 1);
    expect(taken[0]?.message).toMatch(/is in use: another hub \(workbench-hub two, /);
  });
});
