/** Checks whether a hub can work on a PostgreSQL database, in words for its operator. Changes nothing. */
import {
  type Finding,
  fault,
  faultWithRemedy,
  ok,
  sentencesOf,
  warning,
} from '@workbench-hub/shared/checks/finding';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import { refusal } from '../connection/database-fault.js';
import { type Connection, type Database, statement } from '../connection/pool.js';
import type { Migration } from '../schema/migration.js';
import {
  type AppliedMigration,
  appliedMigrations,
  extendedBy,
  liveHubs,
  missingMigrations,
  refuseEarlierHubs,
  refuseNewer,
} from '../schema/schema-state.js';

/** The oldest server whose SQL the store uses, as `server_version_num`. */
const OLDEST_SERVER = { number: 150_000, name: '15' };

/** Connections of one hub: the pool, the lock and the news of other hubs, and two of a command beside it. */
const CONNECTIONS = 14;

/** Tolerance for the time that a statement takes. */
const MAX_CLOCK_OFFSET_MS = 2000;
const NOTIFIED_WITHIN_MS = 3000;

interface ServerSettings {
  readonly version_number: number;
  readonly version: string;
  readonly encoding: string;
  readonly database: string;
  readonly synchronous_commit: string;
  readonly fsync: string;
  readonly full_page_writes: string;
  readonly is_standby: boolean;
  readonly read_only: string;
  readonly isolation: string;
  readonly idle_session_timeout: string;
  readonly connections: number;
  readonly now_ms: number;
}

const SETTINGS = statement(`
  SELECT current_setting('server_version_num')::int AS version_number, current_setting('server_version') AS version,
    current_setting('server_encoding') AS encoding, current_database() AS database,
    current_setting('synchronous_commit') AS synchronous_commit, current_setting('fsync') AS fsync,
    current_setting('full_page_writes') AS full_page_writes, pg_is_in_recovery() AS is_standby,
    current_setting('default_transaction_read_only') AS read_only,
    current_setting('default_transaction_isolation') AS isolation,
    coalesce(current_setting('idle_session_timeout', true), '0') AS idle_session_timeout,
    (SELECT min(allowed) FROM (VALUES
      (current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int),
      ((SELECT nullif(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user)),
      ((SELECT nullif(datconnlimit, -1) FROM pg_database WHERE datname = current_database()))) AS limits (allowed)) AS connections,
    (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms`);
const MAY_CREATE = statement(
  "SELECT current_schema() AS schema, coalesce(has_schema_privilege(current_schema(), 'CREATE'), FALSE) AS may_create",
);
// Tables and sequences of others may be in the same schema.
const MISSING_RIGHTS = statement(`
  SELECT relname AS table, needed AS right
  FROM pg_class CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'USAGE']) AS needed
  WHERE relnamespace = current_schema()::regnamespace
    AND relowner = (SELECT relowner FROM pg_class WHERE oid = 'schema_migration'::regclass)
    AND CASE WHEN relkind IN ('r', 'p') THEN needed <> 'USAGE' AND NOT has_table_privilege(oid, needed)
      WHEN relkind = 'S' THEN needed = 'USAGE' AND NOT has_sequence_privilege(oid, needed) END
  ORDER BY 1, 2`);
const HAS_KEYS = statement("SELECT to_regclass('key_file') IS NOT NULL AS has_keys");
const CLEAR_KEYS = statement("SELECT name FROM key_file WHERE content NOT LIKE 'sealed:%' ORDER BY name");
const NOTIFY = statement('SELECT pg_notify($1, $2)');

export interface CheckOptions {
  readonly migrations: readonly Migration[];
  readonly clock: Clock;
  readonly timers: Timers;
}

/** Checks all that a hub needs. */
export async function checkDatabase(database: Database, options: CheckOptions): Promise<Finding[]> {
  const { migrations, clock, timers } = options;
  const startedAtMs = clock.nowMs();
  let settings: ServerSettings;
  try {
    settings = await settingsOf(database);
  } catch (error) {
    return [faultWithRemedy('connection', wordsOf(error))];
  }
  const findings = [
    ok('connection', `the database ${database.location} answers`),
    ...checkFitness(settings),
    ...checkDisk(settings),
    ...checkIdle(settings),
    checkConnections(settings),
    checkClock(settings, startedAtMs, clock.nowMs()),
  ];
  const checks = [
    checkTables(database, migrations),
    checkKeys(database),
    checkNotifications(database, timers),
  ];
  for (const check of checks)
    findings.push(await check.catch((error: unknown) => faultWithRemedy('connection', wordsOf(error))));
  return findings;
}

/** The part of the check that a start of the hub needs. Rejects with `StartRefused` for a server on which the hub would lose data
 *  or fail, and with `DatabaseFault`. */
export async function refuseUnfit(database: Database): Promise<void> {
  const faults = sentencesOf(checkFitness(await settingsOf(database)), 'FAULT');
  if (faults.length > 0)
    throw new StartRefused(`the database ${database.location} cannot be used: ${faults.join('; ')}`);
}

async function settingsOf(database: Database): Promise<ServerSettings> {
  return (await database.rows<ServerSettings>(SETTINGS))[0] as ServerSettings;
}

function checkFitness(settings: ServerSettings): Finding[] {
  return [
    checkVersion(settings),
    checkEncoding(settings),
    ...checkWritable(settings),
    checkDurability(settings),
    ...checkIsolation(settings),
  ];
}

/** Rethrows what is no fault of the database. */
function wordsOf(error: unknown): string {
  const refused = refusal(error);
  if (refused instanceof StartRefused) return refused.message;
  throw error;
}

function checkVersion({ version, version_number }: ServerSettings): Finding {
  if (version_number >= OLDEST_SERVER.number) return ok('version', `PostgreSQL ${version}`);
  return fault(
    'version',
    `this is PostgreSQL ${version}; the hub needs ${OLDEST_SERVER.name} or newer`,
    'upgrade the server, or name another one',
  );
}

function checkEncoding({ encoding, database }: ServerSettings): Finding {
  if (encoding === 'UTF8') return ok('encoding', 'UTF8');
  return fault(
    'encoding',
    `the database has the encoding ${encoding}, which cannot hold every text`,
    `create another one: CREATE DATABASE ${database} ENCODING 'UTF8' TEMPLATE template0`,
  );
}

function checkWritable({ is_standby, read_only, database }: ServerSettings): Finding[] {
  const check = 'writing';
  if (is_standby)
    return [fault(check, 'this server is a standby, which cannot be written', 'name the primary server')];
  if (read_only !== 'on') return [];
  const message = 'default_transaction_read_only is on, so nothing can be written';
  return [fault(check, message, `ALTER DATABASE ${database} SET default_transaction_read_only = off`)];
}

function checkDurability({ synchronous_commit, database }: ServerSettings): Finding {
  const check = 'durability';
  if (synchronous_commit !== 'off') return ok(check, `synchronous_commit is ${synchronous_commit}`);
  return fault(
    check,
    'synchronous_commit is off: a crash of the server loses tasks that the hub has acknowledged',
    `ALTER DATABASE ${database} SET synchronous_commit = on`,
  );
}

function checkIsolation({ isolation, database }: ServerSettings): Finding[] {
  if (isolation === 'read committed') return [];
  return [
    fault(
      'isolation',
      `default_transaction_isolation is ${isolation}: statements of the hub would fail when they meet`,
      `ALTER DATABASE ${database} SET default_transaction_isolation = 'read committed'`,
    ),
  ];
}

function checkDisk(settings: ServerSettings): Finding[] {
  return (['fsync', 'full_page_writes'] as const)
    .filter((name) => settings[name] !== 'on')
    .map((name) =>
      fault(
        'disk',
        `${name} is off: a power failure may destroy the database`,
        `set ${name} = on in postgresql.conf`,
      ),
    );
}

function checkIdle({ idle_session_timeout, database }: ServerSettings): Finding[] {
  if (/^0/.test(idle_session_timeout)) return [];
  return [
    warning(
      'idle connections',
      `idle_session_timeout is ${idle_session_timeout}: the server ends connections that the hub keeps open`,
      `ALTER DATABASE ${database} SET idle_session_timeout = 0`,
    ),
  ];
}

function checkConnections({ connections }: ServerSettings): Finding {
  const check = 'connections';
  if (connections >= CONNECTIONS)
    return ok(check, `up to ${connections} are allowed, a hub needs ${CONNECTIONS}`);
  return fault(
    check,
    `only ${connections} are allowed, a hub needs ${CONNECTIONS}`,
    'raise max_connections, or the limit of the user or database',
  );
}

function checkClock({ now_ms }: ServerSettings, beforeMs: number, afterMs: number): Finding {
  const aheadMs = now_ms > afterMs ? now_ms - afterMs : Math.min(0, now_ms - beforeMs);
  const check = 'clock';
  if (Math.abs(aheadMs) <= MAX_CLOCK_OFFSET_MS)
    return ok(check, 'the clocks of the server and of this machine agree');
  return warning(
    check,
    `that of the server is ${Math.round(Math.abs(aheadMs) / 1000)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} this machine's`,
    'synchronize both (chronyd, systemd-timesyncd)',
  );
}

async function checkTables(database: Database, migrations: readonly Migration[]): Promise<Finding> {
  const applied = await appliedMigrations(database);
  const pending = missingMigrations(applied, migrations, 'BEFORE_START').length;
  try {
    refuseNewer(database.location, applied, migrations);
    if (pending > 0) refuseEarlierHubs(database.location, await liveHubs(database), migrations);
  } catch (error) {
    return faultWithRemedy('tables', wordsOf(error));
  }
  if (pending > 0) {
    const [may] = await database.rows<{ schema: string | null; may_create: boolean }>(MAY_CREATE);
    const missing = applied.length === 0 ? 'there are none yet' : `${pending} migrations are missing`;
    if (may?.may_create)
      return ok('tables', `${missing}; the next start of the hub, or store migrate, makes them`);
    return fault(
      'tables',
      `${missing}, and the user may not create them in the schema ${may?.schema ?? '(there is none)'}`,
      `GRANT CREATE ON SCHEMA ${may?.schema ?? 'public'} TO the user, or run store migrate as another user`,
    );
  }
  const rights = await database.rows<{ table: string; right: string }>(MISSING_RIGHTS);
  if (rights.length === 0) {
    const more = noteOn(applied, migrations);
    return ok('tables', `up to date, and the user may read and write them${more && `; ${more}`}`);
  }
  const shown = rights.slice(0, 5).map(({ table, right }) => `${right} on ${table}`);
  return fault(
    'tables',
    `the user lacks ${shown.join(', ')}${rights.length > shown.length ? `, and ${rights.length - shown.length} more rights` : ''}`,
    'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA … TO the user; GRANT USAGE ON ALL SEQUENCES IN SCHEMA … TO the user',
  );
}

/** Keys of hubs that earlier versions wrote in clear (decision 0078). */
async function checkKeys(database: Database): Promise<Finding> {
  const check = 'keys in the database';
  const [table] = await database.rows<{ has_keys: boolean }>(HAS_KEYS);
  const clear = table?.has_keys ? await database.rows<{ name: string }>(CLEAR_KEYS) : [];
  if (clear.length === 0) return ok(check, 'none is in clear');
  return warning(
    check,
    `in clear: ${clear.map(({ name }) => name).join(', ')}; who reads the database can make tokens`,
    'set storage.encryptionKey to the content of the file storage-key in all hubs, and start them again all at once',
  );
}

/** Empty when there is nothing to say. */
function noteOn(applied: readonly AppliedMigration[], migrations: readonly Migration[]): string {
  const newer = extendedBy(applied, migrations);
  if (newer !== undefined)
    return `a newer hub (version ${newer}) has extended them, beside which this one works`;
  const missing = missingMigrations(applied, migrations).length;
  return missing === 0 ? '' : `${missing} migrations follow when no hub of an earlier version runs`;
}

/** Sends a notification from one connection to another, as hubs do. A pooler that lends out a connection for each transaction
 *  loses it. */
async function checkNotifications(database: Database, timers: Timers): Promise<Finding> {
  const check = 'notifications';
  const listener = await database.connect();
  try {
    if (await isNotified(listener, database, timers)) return ok(check, 'they arrive');
    return fault(
      check,
      'LISTEN brings none: something between the hub and PostgreSQL loses them, such as a pooler that lends out connections for one transaction each',
      'name PostgreSQL itself in the address, or set the pooler to pool sessions',
    );
  } finally {
    await listener.close().catch(() => undefined);
  }
}

function isNotified(listener: Connection, sender: Database, timers: Timers): Promise<boolean> {
  const channel = `workbench_check_${process.pid}`;
  return new Promise((resolve) => {
    timers.after(NOTIFIED_WITHIN_MS, () => resolve(false));
    listener
      .listen(channel, () => resolve(true))
      .then(() => sender.rows(NOTIFY, [channel, 'check']))
      .catch(() => resolve(false));
  });
}
