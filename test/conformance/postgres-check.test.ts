/** The check of a database for `workbench-hub store check`, against servers that are right and wrong. */

import {
  type Database,
  type DatabaseSettings,
  openPool,
} from '@workbench-hub/hub/store/postgres/connection/pool';
import { type Migration, migrate } from '@workbench-hub/hub/store/postgres/schema/migrate';
import { checkDatabase, refuseUnfit } from '@workbench-hub/hub/store/postgres/upkeep/check';
import type { Finding } from '@workbench-hub/shared/checks/finding';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import {
  hasPostgres,
  type OwnPostgresServer,
  startPostgres,
  type TestDatabase,
} from '../support/stores/postgres.js';
import { PostgresProxy } from '../support/stores/postgres-proxy.js';

const { clock, timers } = systemRuntime;
const TABLE: Migration = { id: '0001-table', phase: 'expand', sql: 'CREATE TABLE mine (n INTEGER)' };

let server: OwnPostgresServer;
let test: TestDatabase;

describe.skipIf(!hasPostgres)('the check of a database', () => {
  beforeAll(async () => {
    server = await startPostgres({ fsync: 'on', full_page_writes: 'on' });
  });
  afterAll(() => server.end());
  beforeEach(async () => {
    test = await server.create();
  });
  afterEach(() => test.drop());

  async function check(settings: Partial<DatabaseSettings> = {}, at = clock): Promise<Finding[]> {
    const database = openPool({ url: test.url, log: null, ...settings });
    try {
      return await checkDatabase(database, { migrations: [TABLE], clock: at, timers });
    } finally {
      await database.close();
    }
  }
  /** The findings other than OK, and those of one check. */
  const wrong = (findings: readonly Finding[]) => findings.filter(({ state }) => state !== 'OK');
  const of = (findings: readonly Finding[], name: string) =>
    findings.find((finding) => finding.check === name);
  const migrated = async () => {
    const database = openPool({ url: test.url, log: null });
    await migrate(database, [TABLE], { timers, holder: 'test' });
    await database.close();
  };
  const set = (setting: string) => test.query(`ALTER DATABASE ${test.name} SET ${setting}`);

  it('finds keys of hubs in clear, and none that are sealed', async () => {
    await test.query('CREATE TABLE key_file (name TEXT, content TEXT)');
    await test.query("INSERT INTO key_file VALUES ('agent-token', 'sealed:1:abc')");
    expect(of(await check(), 'keys in the database')?.state).toBe('OK');
    await test.query("INSERT INTO key_file VALUES ('token-keys.json', '{}')");
    expect(wrong(await check())).toMatchObject([
      {
        state: 'WARNING',
        message: 'in clear: token-keys.json; who reads the database can make tokens',
      },
    ]);
  });

  it('finds nothing wrong with a new one, nor with a migrated one', async () => {
    const before = await check();
    expect(await test.query("SELECT FROM pg_class WHERE relnamespace = 'public'::regnamespace")).toEqual([]);
    expect(wrong(before)).toEqual([]);
    expect(of(before, 'tables')?.message).toBe(
      'there are none yet; the next start of the hub, or store migrate, makes them',
    );
    expect(of(before, 'version')?.message).toMatch(/^PostgreSQL \d+/);
    await migrated();
    const after = await check();
    expect(wrong(after)).toEqual([]);
    expect(of(after, 'tables')?.message).toBe('up to date, and the user may read and write them');
  });

  /** A database whose server shows other settings. */
  function showing(settings: object): Database {
    const database = openPool({ url: test.url, log: null });
    onTestFinished(() => database.close());
    const rows = async <Row extends object>(...asked: Parameters<Database['rows']>) =>
      (await database.rows<Row>(...asked)).map((row) =>
        'version_number' in row ? { ...row, ...settings } : row,
      );
    return { ...database, rows };
  }

  it('finds a server that is too old, on which no hub starts', async () => {
    const old = showing({ version_number: 140_011, version: '14.11' });
    const why = 'this is PostgreSQL 14.11; the hub needs 15 or newer';
    expect(of(await checkDatabase(old, { migrations: [TABLE], clock, timers }), 'version')).toMatchObject({
      state: 'FAULT',
      message: why,
    });
    await expect(refuseUnfit(old)).rejects.toThrow(`cannot be used: version: ${why}`);
    await refuseUnfit(showing({ version_number: 150_000 }));
  });

  it('ends with the connection when there is none', async () => {
    expect(await check({ url: 'postgres://hub:secret@127.0.0.1:1/hub' })).toEqual([
      {
        check: 'connection',
        state: 'FAULT',
        message:
          'the database postgres://hub@127.0.0.1:1/hub cannot be used: connect ECONNREFUSED 127.0.0.1:1; ' +
          'start PostgreSQL, correct store, or let connections through the firewall',
      },
    ]);
  });

  it('finds an encoding that cannot hold every text', async () => {
    const latin = await server.create("template0 ENCODING 'LATIN1'");
    try {
      expect(wrong(await check({ url: latin.url }))).toEqual([
        {
          check: 'encoding',
          state: 'FAULT',
          message: 'the database has the encoding LATIN1, which cannot hold every text',
          advice: `create another one: CREATE DATABASE ${latin.name} ENCODING 'UTF8' TEMPLATE template0`,
        },
      ]);
      await expect(refuseUnfit(showing({ encoding: 'LATIN1' }))).rejects.toThrow('encoding LATIN1');
    } finally {
      await latin.drop();
    }
  });

  it.each([
    [
      'synchronous_commit = off',
      'durability',
      'FAULT',
      'synchronous_commit is off: a crash of the server loses tasks',
    ],
    ['default_transaction_read_only = on', 'writing', 'FAULT', 'nothing can be written'],
    ["default_transaction_isolation = 'serializable'", 'isolation', 'FAULT', 'is serializable'],
    ["idle_session_timeout = '10min'", 'idle connections', 'WARNING', 'idle_session_timeout is 10min'],
  ])('finds %s', async (setting, name, state, message) => {
    await set(setting);
    expect(wrong(await check())).toEqual([
      expect.objectContaining({ check: name, state, message: expect.stringContaining(message) }),
    ]);
  });

  it('finds settings of the server by which a power failure destroys it', async () => {
    const careless = await startPostgres();
    onTestFinished(() => careless.end());
    expect(wrong(await check({ url: careless.url('postgres') })).map(({ message }) => message)).toEqual([
      'fsync is off: a power failure may destroy the database',
      'full_page_writes is off: a power failure may destroy the database',
    ]);
  });

  it('finds missing rights, and a limit of connections', async () => {
    const user = { name: `hub_${test.name}`, password: 'pw' };
    await test.query(`CREATE ROLE ${user.name} LOGIN PASSWORD 'pw' CONNECTION LIMIT 5`);
    const url = server.url(test.name, user);
    expect(wrong(await check({ url, maxConnections: 2 })).map(({ message }) => message)).toEqual([
      'only 5 are allowed, a hub needs 14',
      'there are none yet, and the user may not create them in the schema public',
    ]);
    await migrated();
    await test.query(
      `GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${user.name}; ALTER ROLE ${user.name} CONNECTION LIMIT 50`,
    );
    expect(wrong(await check({ url }))).toEqual([
      {
        check: 'tables',
        state: 'FAULT',
        message:
          'the user lacks DELETE on mine, INSERT on mine, UPDATE on mine, DELETE on schema_migration, INSERT on schema_migration, and 4 more rights',
        advice:
          'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA … TO the user; GRANT USAGE ON ALL SEQUENCES IN SCHEMA … TO the user',
      },
    ]);
    const all = 'SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public';
    await test.query(`CREATE SEQUENCE numbers; GRANT ${all} TO ${user.name}`);
    expect(wrong(await check({ url })).map(({ message }) => message)).toEqual([
      'the user lacks USAGE on numbers',
    ]);
    await test.query(`DROP OWNED BY ${user.name}; DROP ROLE ${user.name}`);
  });

  it('finds a database of a newer hub', async () => {
    await migrated();
    await test.query("INSERT INTO schema_migration (id) VALUES ('0999-later')");
    expect(wrong(await check())).toEqual([
      {
        check: 'tables',
        state: 'FAULT',
        message: expect.stringMatching(
          /^a newer hub has migrated the database .* \(0999-later\): start the newer hub/,
        ),
      },
    ]);
  });

  it('finds a pooler that loses notifications', async () => {
    const proxy = await PostgresProxy.listen(server.port);
    onTestFinished(() => proxy.close());
    expect(wrong(await check({ url: proxy.through(test.url) }))).toEqual([]);
    proxy.dropsNotifications = true;
    expect(wrong(await check({ url: proxy.through(test.url) }))).toEqual([
      expect.objectContaining({
        check: 'notifications',
        state: 'FAULT',
        advice: 'name PostgreSQL itself in the address, or set the pooler to pool sessions',
      }),
    ]);
  });

  it.each([
    [60_000, "that of the server is 60 s behind this machine's"],
    [-60_000, "that of the server is 60 s ahead of this machine's"],
  ])('finds clocks that differ by %i ms', async (offsetMs, message) => {
    const skewed = { ...clock, nowMs: () => clock.nowMs() + offsetMs };
    expect(wrong(await check({}, skewed))).toEqual([
      expect.objectContaining({ check: 'clock', state: 'WARNING', message }),
    ]);
  });

  it.each([
    [2000, 'OK'],
    [2001, 'WARNING'],
    [-2000, 'OK'],
    [-2001, 'WARNING'],
  ])('says of clocks that differ by %i ms: %s', async (offsetMs, state) => {
    const nowMs = clock.nowMs();
    const database = showing({ now_ms: nowMs + offsetMs });
    const still = { ...clock, nowMs: () => nowMs };
    const findings = await checkDatabase(database, { migrations: [TABLE], clock: still, timers });
    expect(of(findings, 'clock')).toMatchObject({ state });
  });
});
