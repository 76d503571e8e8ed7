/**
 * Migrations of a PostgreSQL database. Hubs that start at the same time take turns by a row that
 * they poll: a session that waited for a lock would hold a snapshot, for which CREATE INDEX CONCURRENTLY waits.
 */
import { pause } from '@workbench-hub/shared/runtime/pause';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import { DatabaseFault } from '../connection/database-fault.js';
import { type Connection, type Database, statement } from '../connection/pool.js';
import { generationOf, isAfterHubs, type Migration } from './migration.js';
import {
  appliedMigrations,
  type LiveHub,
  liveHubs,
  missingMigrations,
  namesOf,
  refuseEarlierHubs,
  refuseNewer,
} from './schema-state.js';

export type { Migration };

export interface MigrationOptions {
  readonly timers: Timers;
  /** Name of this process, which no other has. */
  readonly holder: string;
  /** Version of this process, for messages of others. */
  readonly version?: string;
  /** The hub that migrates, if any: its row does not count. */
  readonly hubId?: string;
  /** Migrations to apply: those without which a hub does not begin, or all, by default. */
  readonly which?: 'ALL' | 'BEFORE_START';
  /** Whether to go on, asked before each transaction; by default it does. */
  readonly isWanted?: () => boolean;
  /** Time for which the turn of another process, or the lock of a table, is waited for. */
  readonly waitMs?: number;
}

export interface Migrated {
  /** Ids of the migrations that were applied. */
  readonly done: readonly string[];
  /** Live hubs of an earlier generation, for whose end the others wait; empty when none waits. */
  readonly waitsFor: readonly LiveHub[];
}

const NOTHING: Migrated = { done: [], waitsFor: [] };

const TURN_S = 30;
const RENEW_EVERY_MS = 10_000;
const POLL_EVERY_MS = 200;
const WAIT_MS = 60_000;
const LOCK_TIMEOUT = '2s';
/** Pause between the parts of a backfill, for the work of the hubs. */
const PART_EVERY_MS = 20;

const CREATE_TABLES = `
  CREATE TABLE IF NOT EXISTS schema_migration (
    id         TEXT PRIMARY KEY,
    applied_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
  );
  ALTER TABLE schema_migration
    ADD COLUMN IF NOT EXISTS generation INTEGER NOT NULL DEFAULT 1,
    ADD COLUMN IF NOT EXISTS phase      TEXT NOT NULL DEFAULT 'expand',
    ADD COLUMN IF NOT EXISTS version    TEXT; -- of the hub that applied it
  CREATE TABLE IF NOT EXISTS schema_turn (
    only_row BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (only_row),
    holder   TEXT NOT NULL,
    until    TIMESTAMPTZ NOT NULL
  );`;
const TAKE_TURN = statement(`
  INSERT INTO schema_turn (holder, until) VALUES ($1, clock_timestamp() + make_interval(secs => $2))
  ON CONFLICT (only_row) DO UPDATE SET holder = excluded.holder, until = excluded.until
  WHERE schema_turn.holder = excluded.holder OR schema_turn.until < clock_timestamp()`);
const END_TURN = statement('DELETE FROM schema_turn WHERE holder = $1');
const IS_HOLDER = statement('SELECT 1 FROM schema_turn WHERE holder = $1 AND until > clock_timestamp()');
const RECORD = statement(
  'INSERT INTO schema_migration (id, generation, phase, version) VALUES ($1, $2, $3, $4)',
);

/** Applies the migrations that the database lacks, as far as the hubs that work on it allow. Rejects with {@link StartRefused} when hubs of
 *  another generation do not allow what is needed, or another process keeps it locked, and with {@link DatabaseFault}. */
export async function migrate(
  database: Database,
  migrations: readonly Migration[],
  options: MigrationOptions,
): Promise<Migrated> {
  const { location } = database;
  const missing = async () => {
    const applied = await appliedMigrations(database);
    refuseNewer(location, applied, migrations);
    return missingMigrations(applied, migrations, options.which);
  };
  // A role that may not create tables can use a database that needs no migration.
  if ((await missing()).length === 0) return NOTHING;
  await createTables(database);
  const turn = await takeTurn(database, options);
  try {
    const connection = await database.connect({ statementTimeoutMs: 0 });
    try {
      refuseEarlierHubs(location, await liveHubs(connection, options.hubId), migrations);
      return await applyAll(connection, database, await missing(), options);
    } finally {
      await connection.close();
    }
  } finally {
    await turn.end();
  }
}

async function applyAll(
  connection: Connection,
  database: Database,
  missing: readonly Migration[],
  options: MigrationOptions,
): Promise<Migrated> {
  const { timers, isWanted = () => true } = options;
  const done: string[] = [];
  for (const [at, migration] of missing.entries()) {
    let outcome: Outcome = 'IN_PART';
    while (outcome === 'IN_PART') {
      if (!isWanted()) return { done, waitsFor: [] };
      outcome = await applyPatiently(connection, database, migration, options);
      if (outcome === 'IN_PART') await pause(timers, PART_EVERY_MS);
    }
    if (outcome !== 'DONE') {
      if (missing.slice(at).every(isAfterHubs)) return { done, waitsFor: outcome };
      throw new StartRefused(
        `${namesOf(outcome)} began to work on the database ${database.location} during its migration: start again when they have ended`,
      );
    }
    done.push(migration.id);
  }
  return { done, waitsFor: [] };
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

/** Result of a transaction: a backfill is done in parts, and what waits until no hub of an earlier generation lives has those hubs. */
type Outcome = 'DONE' | 'IN_PART' | readonly LiveHub[];

/** Tries again while a table is locked. */
async function applyPatiently(
  connection: Connection,
  { location }: Database,
  migration: Migration,
  options: MigrationOptions,
): Promise<Outcome> {
  const { timers, waitMs = WAIT_MS } = options;
  const triesLeft = Math.ceil(waitMs / 2000);
  for (let left = triesLeft; ; left--) {
    try {
      return await apply(connection, migration, options);
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

async function apply(
  connection: Connection,
  migration: Migration,
  { holder, hubId, version }: MigrationOptions,
): Promise<Outcome> {
  const { id, phase } = migration;
  await connection.script(`BEGIN; SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'`);
  try {
    const isHolder = (await connection.rows(IS_HOLDER, [holder])).length === 1;
    if (!isHolder) throw new StartRefused(`the migration ${id} took too long to begin: start again`);
    const outcome = await changeBy(connection, migration, hubId);
    if (outcome === 'DONE')
      await connection.changed(RECORD, [id, generationOf(migration), phase, version ?? null]);
    await connection.script('COMMIT');
    return outcome;
  } catch (error) {
    await connection.script('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

async function changeBy(
  connection: Connection,
  migration: Migration,
  hubId: string | undefined,
): Promise<Outcome> {
  const { phase, sql } = migration;
  if (isAfterHubs(migration)) {
    const earlier = (await liveHubs(connection, hubId)).filter(
      ({ generation }) => generation < generationOf(migration),
    );
    if (earlier.length > 0) return earlier;
  }
  if (phase === 'backfill') return (await connection.changed(statement(sql))) > 0 ? 'IN_PART' : 'DONE';
  await connection.script(sql);
  return 'DONE';
}
