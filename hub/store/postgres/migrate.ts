/**
 * Migrations of a PostgreSQL database. Hubs that start at the same time take turns by a row that
 * they poll: a session that waited for a lock would hold a snapshot, for which CREATE INDEX CONCURRENTLY waits.
 */
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import { DatabaseFault } from './database-fault.js';
import { type Connection, type Database, statement } from './pool.js';

export type MigrationPhase = 'expand' | 'contract';

export interface Migration {
  /** Four digits and a name, such as `0100-accounts`. Migrations are applied in the order of their ids. */
  readonly id: string;
  /** `expand` adds what hubs of the former version can live with; `contract` removes what only they needed. */
  readonly phase: MigrationPhase;
  /** Statements, separated by semicolons, that are applied in one transaction. */
  readonly sql: string;
}

export interface MigrationOptions {
  readonly timers: Timers;
  /** Name of this process, which no other has. */
  readonly holder: string;
  /** Phases to apply; both by default. */
  readonly phases?: readonly MigrationPhase[];
  /** Time for which the turn of another process, or the lock of a table, is waited for. */
  readonly waitMs?: number;
}

const TURN_S = 30;
const RENEW_EVERY_MS = 10_000;
const POLL_EVERY_MS = 200;
const WAIT_MS = 60_000;
const LOCK_TIMEOUT = '2s';

const CREATE_TABLES = `
  CREATE TABLE IF NOT EXISTS schema_migration (
    id         TEXT PRIMARY KEY,
    applied_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
  );
  CREATE TABLE IF NOT EXISTS schema_turn (
    only_row BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (only_row),
    holder   TEXT NOT NULL,
    until    TIMESTAMPTZ NOT NULL
  );`;
const TABLE = statement("SELECT to_regclass('schema_migration') IS NOT NULL AS exists");
const APPLIED = statement('SELECT id FROM schema_migration ORDER BY id');
const TAKE_TURN = statement(`
  INSERT INTO schema_turn (holder, until) VALUES ($1, clock_timestamp() + make_interval(secs => $2))
  ON CONFLICT (only_row) DO UPDATE SET holder = excluded.holder, until = excluded.until
  WHERE schema_turn.holder = excluded.holder OR schema_turn.until < clock_timestamp()`);
const END_TURN = statement('DELETE FROM schema_turn WHERE holder = $1');
const IS_HOLDER = statement('SELECT 1 FROM schema_turn WHERE holder = $1 AND until > clock_timestamp()');
const RECORD = statement('INSERT INTO schema_migration (id) VALUES ($1)');

/** Ids of the applied migrations, in order; empty for an empty database. Rejects with {@link DatabaseFault}. */
export async function appliedMigrations(database: Database): Promise<string[]> {
  const [table] = await database.rows<{ exists: boolean }>(TABLE);
  return table?.exists ? (await database.rows<{ id: string }>(APPLIED)).map(({ id }) => id) : [];
}

/** Throws {@link StartRefused} when a newer hub has migrated the database. */
export function refuseNewer(
  { location }: Pick<Database, 'location'>,
  applied: readonly string[],
  migrations: readonly Migration[],
): void {
  const known = new Set(migrations.map(({ id }) => id));
  const unknown = applied.filter((id) => !known.has(id));
  if (unknown.length === 0) return;
  throw new StartRefused(
    `a newer hub has migrated the database ${location} (${unknown.join(', ')}): ` +
      'start the newer hub, or restore a backup from before the update',
  );
}

/** Applies the migrations that the database lacks; resolves with their ids. Rejects with {@link StartRefused} when a newer hub
 *  has migrated it, or another process keeps it locked, and with {@link DatabaseFault}. */
export async function migrate(
  database: Database,
  migrations: readonly Migration[],
  options: MigrationOptions,
): Promise<string[]> {
  const phases = options.phases ?? ['expand', 'contract'];
  const pending = async () => {
    const applied = await appliedMigrations(database);
    refuseNewer(database, applied, migrations);
    return migrations
      .filter(({ id, phase }) => phases.includes(phase) && !applied.includes(id))
      .sort((a, b) => (a.id < b.id ? -1 : 1));
  };
  // A role that may not create tables can use a database that needs no migration.
  if ((await pending()).length === 0) return [];
  await createTables(database);
  const turn = await takeTurn(database, options);
  try {
    const connection = await database.connect({ statementTimeoutMs: 0 });
    try {
      const done = await pending();
      for (const migration of done) await applyPatiently(connection, database, migration, options);
      return done.map(({ id }) => id);
    } finally {
      await connection.close();
    }
  } finally {
    await turn.end();
  }
}

/** Concurrent calls collide within PostgreSQL in spite of IF NOT EXISTS; then the table is there at the next try. */
async function createTables(database: Database): Promise<void> {
  for (let left = 5; ; left--) {
    try {
      return await database.script(CREATE_TABLES);
    } catch (error) {
      if (
        left === 0 ||
        !(error instanceof DatabaseFault) ||
        !['23505', '42710', '42P07'].includes(error.code)
      )
        throw error;
    }
  }
}

async function takeTurn(
  database: Database,
  { timers, holder, waitMs = WAIT_MS }: MigrationOptions,
): Promise<{ end(): Promise<void> }> {
  const take = async () => (await database.changed(TAKE_TURN, [holder, TURN_S])) === 1;
  for (let waitedMs = 0; !(await take()); waitedMs += POLL_EVERY_MS) {
    if (waitedMs >= waitMs)
      throw new StartRefused(
        `another process migrates the database ${database.location}, and has not ended within ${Math.round(waitMs / 1000)} s: start again later`,
      );
    await pause(timers, POLL_EVERY_MS);
  }
  let hasEnded = false;
  const renew = () =>
    timers.after(RENEW_EVERY_MS, () => {
      if (hasEnded) return;
      // Each migration checks itself whose turn it is.
      take().catch(() => undefined);
      renewal = renew();
    });
  let renewal = renew();
  return {
    end: async () => {
      hasEnded = true;
      renewal.cancel();
      // Otherwise it expires.
      await database.changed(END_TURN, [holder]).catch(() => undefined);
    },
  };
}

/** Tries again while a table is locked. */
async function applyPatiently(
  connection: Connection,
  { location }: Database,
  migration: Migration,
  { timers, holder, waitMs = WAIT_MS }: MigrationOptions,
): Promise<void> {
  const triesLeft = Math.ceil(waitMs / 2000);
  for (let left = triesLeft; ; left--) {
    try {
      return await apply(connection, migration, holder);
    } catch (error) {
      if (!(error instanceof DatabaseFault) || error.code !== '55P03') throw error;
      if (left <= 1)
        throw new StartRefused(
          `the migration ${migration.id} of the database ${location} waits for a lock that another session holds: ` +
            'end that session (pg_stat_activity names it) and start again',
          { cause: error },
        );
    }
    await pause(timers, POLL_EVERY_MS);
  }
}

async function apply(connection: Connection, { id, sql }: Migration, holder: string): Promise<void> {
  await connection.script(`BEGIN; SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'`);
  try {
    const isHolder = (await connection.rows(IS_HOLDER, [holder])).length === 1;
    if (!isHolder) throw new StartRefused(`the migration ${id} took too long to begin: start again`);
    await connection.script(sql);
    await connection.changed(RECORD, [id]);
    await connection.script('COMMIT');
  } catch (error) {
    await connection.script('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

function pause(timers: Timers, delayMs: number): Promise<void> {
  return new Promise((resolve) => void timers.after(delayMs, resolve));
}
