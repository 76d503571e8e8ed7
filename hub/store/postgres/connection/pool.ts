/** Connections to a PostgreSQL database: their limits, timeouts and prepared statements. */
import { createHash } from 'node:crypto';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import pg from 'pg';
import { DatabaseFault, databaseFault } from './database-fault.js';
import { locationOf } from './location.js';
import { PlanRenewal } from './plan-renewal.js';
import { RecoveredCommits } from './recovered-commits.js';

/** A statement that each connection prepares once. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** Names a statement after its text, so that no two share a name. */
export function statement(text: string): Statement {
  return { name: createHash('sha256').update(text).digest('hex').slice(0, 32), text };
}

/** Runs statements, each of which is a transaction of its own unless it is within {@link Database.transaction}. All reject
 *  with {@link DatabaseFault}. */
export interface Queries {
  /** Rows in their order. A bigint is a number, which is exact up to 2^53. */
  rows<Row extends object>(statement: Statement, values?: readonly unknown[]): Promise<Row[]>;
  /** Number of rows that a write inserted, changed or removed. */
  changed(statement: Statement, values?: readonly unknown[]): Promise<number>;
  /** Runs statements without parameters or results, separated by semicolons. */
  script(text: string): Promise<void>;
}

/** One connection outside the limit of the pool. */
export interface Connection extends Queries {
  /** Calls `hear` with the payload of each notification of a channel. */
  listen(channel: string, hear: (payload: string) => void): Promise<void>;
  /** Resolves with the fault that broke the connection, or null when it was closed. Never rejects. */
  readonly ended: Promise<DatabaseFault | null>;
  close(): Promise<void>;
}

export interface Database extends Queries {
  /** Address for messages, without the password. */
  readonly location: string;
  /** Commits when `work` resolves and rolls back when it rejects. `settings`: statements that hold until then. The outcome is unknown
   *  only when the commit fails. */
  transaction<T>(work: (queries: Queries) => Promise<T>, settings?: string): Promise<T>;
  /** Opens a connection, which the caller closes. Zero as timeout is none. */
  connect(timeouts?: { readonly statementTimeoutMs?: number }): Promise<Connection>;
  /** Waits for the statements that run, and closes all connections of the pool. */
  close(): Promise<void>;
}

export interface DatabaseSettings {
  /** `postgres://user:password@host:5432/database?sslmode=verify-full`. */
  readonly url: string;
  /** Takes the place of a password in the address. */
  readonly password?: string | null;
  /** Name under which the database's administrator sees the connections. */
  readonly applicationName?: string;
  readonly maxConnections?: number;
  /** Time for opening a connection, and for waiting until one of the pool is free. */
  readonly connectTimeoutMs?: number;
  readonly statementTimeoutMs?: number;
  /** Null in commands, which print errors. */
  readonly log: Logger | null;
}

const DEFAULTS = {
  password: null,
  applicationName: 'workbench-hub',
  maxConnections: 10,
  connectTimeoutMs: 5000,
  statementTimeoutMs: 10_000,
};

/** Time after the statement timeout at which the server itself counts as silent. */
const SILENCE_MS = 2000;
const IDLE_TIMEOUT_MS = 60_000;
const KEEP_ALIVE_AFTER_MS = 10_000;

const BIGINT = 20;
const TYPES: pg.CustomTypesConfig = {
  getTypeParser: (type: number, format?: 'text' | 'binary') =>
    type === BIGINT && format !== 'binary' ? Number : pg.types.getTypeParser(type, format as 'text'),
};

/** Opens no connection yet: the first statement does. */
export function openPool(given: DatabaseSettings): Database {
  const settings = { ...DEFAULTS, ...given };
  const { log } = settings;
  const location = locationOf(settings.url);
  const pool = new pg.Pool({
    ...clientConfig(settings),
    max: settings.maxConnections,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
  });
  // Without listeners, a broken connection would end the process.
  pool.on('error', (error) => log?.warn({ err: error }, 'an idle connection to the database broke'));
  pool.on('connect', (client) => void client.on('error', () => undefined));

  const plans = new PlanRenewal();
  const recovered = new RecoveredCommits();
  /** `spoil`: the connection is not given back for others. */
  const held = async <T>(work: (client: pg.PoolClient, spoil: () => void) => Promise<T>): Promise<T> => {
    let isSpoiled = false;
    const client = await pool.connect().catch(fail(location, false));
    try {
      await plans.renew(client).catch(fail(location, false));
      await recovered.confirm(client).catch(fail(location, false));
      const result = await work(client, () => {
        isSpoiled = true;
      });
      client.release();
      return result;
    } catch (error) {
      // A refused statement leaves its connection usable.
      client.release(isSpoiled || !(error as Partial<DatabaseFault>).isConnectionUsable);
      throw error;
    }
  };
  const queries = queriesBy((query) => held((client) => run(client, query, location)));
  return {
    ...queries,
    location,
    transaction: (work, inTransaction = '') =>
      held(async (client, spoil) => {
        const inside = queriesBy((query) => run(client, query, location));
        let isCommitting = false;
        try {
          await inside.script(`BEGIN; ${inTransaction}`);
          const result = await work(inside);
          isCommitting = true;
          await inside.script('COMMIT');
          return result;
        } catch (error) {
          await inside.script('ROLLBACK').catch(spoil);
          throw error instanceof DatabaseFault && !isCommitting ? error.withoutEffect() : error;
        }
      }),
    connect: (timeouts = {}) => connect({ ...settings, ...timeouts }, location),
    close: () => pool.end(),
  };
}

async function connect(settings: Required<DatabaseSettings>, location: string): Promise<Connection> {
  const client = new pg.Client(clientConfig(settings));
  let isClosing = false;
  const ended = new Promise<DatabaseFault | null>((resolve) => {
    client.on('error', (error) => resolve(databaseFault(error, location, true)));
    client.on('end', () =>
      resolve(isClosing ? null : databaseFault(new Error('the connection ended'), location, true)),
    );
  });
  await client.connect().catch(fail(location, false));
  return {
    ...queriesBy((query) => run(client, query, location)),
    ended,
    listen: async (channel, hear) => {
      client.on('notification', (heard) => {
        if (heard.channel === channel) hear(heard.payload ?? '');
      });
      await run(client, { text: `LISTEN ${client.escapeIdentifier(channel)}` }, location);
    },
    close: async () => {
      isClosing = true;
      await client.end();
    },
  };
}

function clientConfig(settings: Required<DatabaseSettings>): pg.ClientConfig {
  const { url, password, applicationName, connectTimeoutMs, statementTimeoutMs } = settings;
  return {
    connectionString: withPassword(url, password),
    application_name: applicationName,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    types: TYPES,
    ...(statementTimeoutMs > 0 && {
      statement_timeout: statementTimeoutMs,
      idle_in_transaction_session_timeout: statementTimeoutMs,
      query_timeout: statementTimeoutMs + SILENCE_MS,
    }),
  };
}

/** A login without a password ends in the driver, which leaves the connection open until the server gives it up; a wrong one is
 *  refused by the server at once. */
const NO_PASSWORD = 'no password is configured';

function withPassword(url: string, password: string | null): string {
  const address = new URL(url);
  if (password === null && (address.password || address.searchParams.has('password'))) return url;
  address.searchParams.set('password', password ?? NO_PASSWORD);
  return address.href;
}

type Run = (query: pg.QueryConfig<unknown[]>) => Promise<pg.QueryResult>;

function queriesBy(runQuery: Run): Queries {
  return {
    rows: async <Row extends object>(prepared: Statement, values: readonly unknown[] = []) =>
      (await runQuery({ ...prepared, values: [...values] })).rows as Row[],
    changed: async (prepared, values = []) =>
      (await runQuery({ ...prepared, values: [...values] })).rowCount ?? 0,
    script: async (text) => void (await runQuery({ text })),
  };
}

async function run(
  client: pg.ClientBase,
  query: pg.QueryConfig<unknown[]>,
  location: string,
): Promise<pg.QueryResult> {
  return client.query(query).catch(fail(location, true));
}

/** `wasSent`: the statement may have taken effect although its response is missing. */
function fail(location: string, wasSent: boolean): (error: unknown) => never {
  return (error) => {
    throw databaseFault(error, location, wasSent);
  };
}
