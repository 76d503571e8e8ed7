/** Faults of a PostgreSQL server, in the words that clients and operators get. */
import { chown, copyFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  DatabaseFault,
  refusal,
  storeError,
} from '@workbench-hub/hub/store/postgres/connection/database-fault';
import {
  type Database,
  type DatabaseSettings,
  openPool,
  statement,
} from '@workbench-hub/hub/store/postgres/connection/pool';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../support/eventually.js';
import { authority, type CertificateWish } from '../support/hubs/certificates.js';
import {
  emptyDatabase,
  hasPostgres,
  queryAt,
  startPostgres,
  type TestDatabase,
} from '../support/stores/postgres.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const ONE = statement('SELECT 1 AS one');
const LOCATION = String.raw`postgres://\w+@127\.0\.0\.1:\d+/\w+`;

let test: TestDatabase;

function pool(rest: Partial<DatabaseSettings> = {}): Database {
  const database = openPool({ url: test.url, log: null, ...rest });
  onTestFinished(() => database.close());
  return database;
}

async function faultOf(work: Promise<unknown>): Promise<DatabaseFault> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(DatabaseFault);
  return error as DatabaseFault;
}

const wordsOf = (fault: DatabaseFault) => (refusal(fault) as Error).message;

describe.skipIf(!hasPostgres)('a fault of PostgreSQL', () => {
  beforeEach(async () => {
    test = await emptyDatabase();
  });
  afterEach(async () => {
    for (const name of roles.splice(0)) await test.query(`DROP ROLE ${name}`);
    await test.drop();
  });

  const roles: string[] = [];
  const role = async (name: string, attributes: string) => {
    await test.query(`CREATE ROLE ${name}_${test.name} LOGIN PASSWORD 'right' ${attributes}`);
    roles.push(`${name}_${test.name}`);
    return (password: string) => test.server.url(test.name, { name: `${name}_${test.name}`, password });
  };

  it('names a wrong password, and never prints it', async () => {
    const url = await role('u', '');
    const fault = await faultOf(pool({ url: url('wrong-one') }).rows(ONE));
    expect(fault).toMatchObject({ kind: 'LOGIN_REFUSED', code: '28P01', isOutcomeUnknown: false });
    expect(wordsOf(fault)).toMatch(
      new RegExp(
        `^the database ${LOCATION} cannot be used: password authentication failed for user "u_\\w+" .*pg_hba.conf$`,
      ),
    );
    expect(wordsOf(fault)).not.toContain('wrong-one');
    const none = await faultOf(pool({ url: url('').replace(':@', '@') }).rows(ONE));
    expect(none).toMatchObject({ kind: 'LOGIN_REFUSED' });
    expect(await pool({ url: url('wrong-one'), password: 'right' }).rows(ONE)).toEqual([{ one: 1 }]);
  });

  it('names a database that does not exist', async () => {
    const fault = await faultOf(pool({ url: test.server.url('nothing') }).rows(ONE));
    expect(fault).toMatchObject({ kind: 'NO_DATABASE', code: '3D000' });
    expect(wordsOf(fault)).toMatch(
      /database "nothing" does not exist \(3D000\); create the database, or correct store$/,
    );
  });

  it('names missing rights', async () => {
    const url = await role('u', '');
    const fault = await faultOf(pool({ url: url('right') }).script('CREATE TABLE mine (n INTEGER)'));
    expect(fault).toMatchObject({ kind: 'NO_RIGHTS', code: '42501', isOutcomeUnknown: false });
    expect(wordsOf(fault)).toMatch(
      /permission denied for schema public \(42501\); give these rights to the user in store$/,
    );
  });

  it('names a limit of connections', async () => {
    const url = await role('u', 'CONNECTION LIMIT 1');
    await pool({ url: url('right') }).rows(ONE);
    const fault = await faultOf(pool({ url: url('right') }).rows(ONE));
    expect(fault).toMatchObject({ kind: 'TOO_MANY_CONNECTIONS', code: '53300', isOutcomeUnknown: false });
    expect(storeError(fault)).toMatchObject({ code: 'STORE_UNAVAILABLE', retryAfterS: 2 });
  });

  it('names a server that does not run, within seconds', async () => {
    const url = 'postgres://hub:secret@127.0.0.1:1/hub';
    const startedAt = performance.now();
    const fault = await faultOf(pool({ url }).rows(ONE));
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    expect(fault).toMatchObject({ kind: 'UNREACHABLE', code: 'ECONNREFUSED', isOutcomeUnknown: false });
    expect(wordsOf(fault)).toBe(
      'the database postgres://hub@127.0.0.1:1/hub cannot be used: connect ECONNREFUSED 127.0.0.1:1; ' +
        'start PostgreSQL, correct store, or let connections through the firewall',
    );
  });

  it('names a server without TLS that was asked for', async () => {
    const fault = await faultOf(pool({ url: `${test.url}?sslmode=verify-full` }).rows(ONE));
    expect(fault).toMatchObject({ kind: 'TLS' });
    expect(wordsOf(fault)).toMatch(/The server does not support SSL connections; correct sslmode/);
  });

  it('names a certificate that is not trusted, or of another name, and shows whether a connection is encrypted', async () => {
    const server = await startPostgres();
    onTestFinished(() => server.end());
    const { path, remove } = await temporaryFolder();
    onTestFinished(remove);
    const { file: ca, issue } = await authority(path, 'own-authority');
    const presents = async (wish: CertificateWish) => {
      const { cert, key } = await issue(wish);
      // The server takes its key from its own user only.
      const { uid, gid } = await stat(server.dataFolder);
      for (const [from, name] of [
        [cert, 'server.crt'],
        [key, 'server.key'],
      ] as const) {
        await copyFile(from, join(server.dataFolder, name));
        await chown(join(server.dataFolder, name), uid, gid);
      }
      await queryAt(server.url('postgres'), 'ALTER SYSTEM SET ssl = on');
      await queryAt(server.url('postgres'), 'SELECT pg_reload_conf()');
    };
    const url = server.url('postgres').replace('127.0.0.1', 'localhost');
    const isEncrypted = async (query: string) =>
      pool({ url: url + query }).rows(statement('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()'));
    const trusting = `?sslmode=verify-full&sslrootcert=${ca}`;
    await presents({ name: 'db', hosts: ['localhost'] });
    await eventually(() => isEncrypted(trusting));
    expect(await isEncrypted(trusting)).toEqual([{ ssl: true }]);
    expect(await isEncrypted('')).toEqual([{ ssl: false }]);
    const untrusted = await faultOf(isEncrypted('?sslmode=verify-full'));
    expect(untrusted).toMatchObject({ kind: 'TLS' });
    expect(wordsOf(untrusted)).toMatch(/certificate.*; correct sslmode and sslrootcert in store/);
    await presents({ name: 'other', hosts: ['db.example.com'] });
    await eventually(() =>
      isEncrypted(trusting).then(
        () => undefined,
        () => true,
      ),
    );
    expect(await faultOf(isEncrypted(trusting))).toMatchObject({ kind: 'TLS' });
  });

  it('ends a statement that takes too long, after which the connection is usable', async () => {
    const database = pool({ statementTimeoutMs: 200, maxConnections: 1 });
    const pid = async () =>
      (await database.rows<{ pid: number }>(statement('SELECT pg_backend_pid() AS pid')))[0]?.pid;
    const before = await pid();
    const fault = await faultOf(database.rows(statement('SELECT pg_sleep(30)')));
    expect(fault).toMatchObject({ kind: 'TIMEOUT', code: '57014', isOutcomeUnknown: false });
    expect(await pid()).toBe(before);
    expect(await pool().rows(statement('SHOW statement_timeout'))).toEqual([{ statement_timeout: '10s' }]);
  });

  it('of a full disk is STORAGE_FULL to clients, and changes nothing', async () => {
    const database = pool();
    await test.query('CREATE TABLE t (n INTEGER)');
    const fault = await faultOf(
      database.transaction(async (queries) => {
        await queries.script('INSERT INTO t VALUES (1)');
        await queries.script(
          "DO $$ BEGIN RAISE 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$",
        );
      }),
    );
    expect(fault).toMatchObject({ kind: 'FULL_DISK', isOutcomeUnknown: false });
    expect(storeError(fault)).toMatchObject({
      code: 'STORAGE_FULL',
      message: "the disk of the hub's database is full; nothing was changed",
    });
    expect(await test.query('SELECT n FROM t')).toEqual([]);
  });

  it('of a connection that breaks leaves open whether the statement took effect; the next one works', async () => {
    const database = pool();
    const broken = faultOf(database.rows(statement('SELECT pg_sleep(30)')));
    await eventually(async () => {
      const [ended] = await test.query<{ done: boolean }>(
        "SELECT pg_terminate_backend(pid) AS done FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(30)%' AND application_name = 'workbench-hub' AND datname = current_database()",
      );
      return ended?.done;
    });
    const fault = await broken;
    expect(fault).toMatchObject({ isOutcomeUnknown: true });
    expect(storeError(fault)).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: 'the hub cannot use its database; whether anything was changed is not known',
    });
    expect(await database.rows(ONE)).toEqual([{ one: 1 }]);
  });

  it('of an idle connection is not seen by the next statement', async () => {
    const database = pool();
    await database.rows(ONE);
    await test.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'workbench-hub' AND datname = current_database()",
    );
    await eventually(async () => (await database.rows(ONE).catch(() => [])).length === 1);
  });

  it('reads a bigint as a number, and shares a prepared statement among values', async () => {
    const sum = statement('SELECT $1::bigint + $2::bigint AS sum');
    const database = pool({ maxConnections: 1 });
    expect(await database.rows(sum, [1_795_000_000_000, 1])).toEqual([{ sum: 1_795_000_000_001 }]);
    expect(await database.rows(sum, [1, 2])).toEqual([{ sum: 3 }]);
    const prepared = await database.rows(
      statement('SELECT name FROM pg_prepared_statements WHERE name = $1'),
      [sum.name],
    );
    expect(prepared).toHaveLength(1);
  });

  it('is told to who holds a connection of its own, which hears notifications until then', async () => {
    const database = pool();
    const connection = await database.connect();
    const heard: string[] = [];
    await connection.listen('some channel', (payload) => heard.push(payload));
    await test.query(`NOTIFY "some channel", 'hello'`);
    await eventually(() => heard.length === 1);
    expect(heard).toEqual(['hello']);
    await test.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'workbench-hub' AND datname = current_database()",
    );
    expect(await connection.ended).toMatchObject({ isOutcomeUnknown: true });
  });
});

describe.skipIf(!hasPostgres)('a server that', () => {
  it('falls silent is given up in time; after its return, statements work', async () => {
    const server = await startPostgres();
    onTestFinished(() => server.end());
    const database = openPool({
      url: server.url('postgres'),
      log: null,
      statementTimeoutMs: 100,
      connectTimeoutMs: 500,
    });
    onTestFinished(() => database.close());
    await database.rows(ONE);
    const [backend] = await database.rows<{ pid: number }>(statement('SELECT pg_backend_pid() AS pid'));
    process.kill(Number(backend?.pid), 'SIGSTOP');
    process.kill(server.pid, 'SIGSTOP');
    const silent = await faultOf(database.rows(ONE));
    expect(silent).toMatchObject({ kind: 'BROKEN', isOutcomeUnknown: true });
    const unreachable = await faultOf(database.rows(ONE));
    expect(unreachable).toMatchObject({ kind: 'UNREACHABLE', isOutcomeUnknown: false });
    process.kill(server.pid, 'SIGCONT');
    process.kill(Number(backend?.pid), 'SIGCONT');
    await eventually(async () => (await database.rows(ONE)).length === 1);
  });

  it('was killed, and started again, works with the same pool', async () => {
    const server = await startPostgres();
    onTestFinished(() => server.end());
    const database = openPool({ url: server.url('postgres'), log: null });
    onTestFinished(() => database.close());
    await database.rows(ONE);
    await server.kill();
    await eventually(async () => (await faultOf(database.rows(ONE))).kind === 'UNREACHABLE');
    await eventually(() => server.start().then(() => true));
    expect(await database.rows(ONE)).toEqual([{ one: 1 }]);
  });

  it('in the end of a transaction costs its connection, which nobody else gets', async () => {
    const server = await startPostgres();
    onTestFinished(() => server.end());
    const url = server.url('postgres');
    const database = openPool({ url, log: null, maxConnections: 1, statementTimeoutMs: 500 });
    onTestFinished(() => database.close());
    const pid = statement('SELECT pg_backend_pid() AS pid');
    const [first] = await database.rows<{ pid: number }>(pid);
    const failed = database.transaction(async (queries) => {
      await queries.rows(statement('SELECT 1 / 0')).catch((error: unknown) => {
        process.kill(Number(first?.pid), 'SIGSTOP');
        throw error;
      });
    });
    expect(await faultOf(failed)).toMatchObject({ kind: 'REFUSED', code: '22012' });
    process.kill(Number(first?.pid), 'SIGCONT');
    const [second] = await database.rows<{ pid: number }>(pid);
    expect(second?.pid).not.toBe(first?.pid);
  });
});
