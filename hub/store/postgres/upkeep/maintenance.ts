/** Commands of an operator on a PostgreSQL database, beside the hub or without one. */
import type { Finding } from '@workbench-hub/shared/checks/finding';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import type { OpenedAccountStore } from '../../../core/ports/store.js';
import { postgresAccountStore } from '../accounts/account-store.js';
import { keptHubId } from '../cluster/membership/hub-identity.js';
import { refusal } from '../connection/database-fault.js';
import { lockDatabase } from '../connection/hub-lock.js';
import { type Database, openPool } from '../connection/pool.js';
import { acceptLoss, checkConfirmed, missingText } from '../lanes/confirmed-batches.js';
import { type Migrated, migrate } from '../schema/migrate.js';
import { MIGRATIONS } from '../schema/schema.js';
import { checkDatabase } from './check.js';

/** The address of a database, as `store` of the configuration has it. */
export interface DatabaseAddress {
  readonly url: string;
  /** Takes the place of a password in the address. */
  readonly password: string | null;
}

export interface MigratingOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Name of this process, which no other has. */
  readonly holder: string;
  readonly version: string;
}

/** Connections of a command. */
const MAX_CONNECTIONS = 2;

/** Checks whether the hub with this data folder can work on the database. Changes nothing. */
export function checkPostgres(
  address: DatabaseAddress,
  dataDir: string,
  { clock, timers }: { readonly clock: Clock; readonly timers: Timers },
): Promise<Finding[]> {
  return onDatabase(address, async (database) => {
    const findings = await checkDatabase(database, { migrations: MIGRATIONS, clock, timers });
    const isConnected = findings.every(({ check, state }) => check !== 'connection' || state === 'OK');
    return isConnected
      ? [...findings, await checkConfirmed(database, { dataDir, hub: await keptHubId(dataDir) })]
      : findings;
  });
}

/** Brings the tables up to date, as far as the hubs that work on them allow. Rejects with `StartRefused` when they do not allow what a hub of
 *  this version needs, and when the database cannot be used. */
export function migratePostgres(address: DatabaseAddress, options: MigratingOptions): Promise<Migrated> {
  return onDatabase(address, (database) => migrate(database, MIGRATIONS, options));
}

/** Accepts that the database lacks confirmed work; resolves with that work in words, undefined when none is missing. Rejects with
 *  `StartRefused` while a hub runs on the database, and when it cannot be used. */
export function acceptLossOnPostgres(
  address: DatabaseAddress,
  dataDir: string,
  { timers }: { readonly timers: Timers },
): Promise<string | undefined> {
  return onDatabase(address, async (database) => {
    const lock = await lockDatabase(database, {
      mode: 'ALONE',
      timers,
      log: null,
      onTaken: () => undefined,
    });
    try {
      const missing = await acceptLoss(database, { dataDir, hub: await keptHubId(dataDir) });
      return missing && missingText(missing);
    } finally {
      await lock.release();
    }
  });
}

/** Opens the accounts beside the hub. Rejects with `StartRefused` when the database cannot be used. */
export async function openPostgresAccounts(
  address: DatabaseAddress,
  options: MigratingOptions,
): Promise<OpenedAccountStore> {
  const database = openPool({
    ...address,
    applicationName: APPLICATION,
    maxConnections: MAX_CONNECTIONS,
    log: null,
  });
  try {
    await migrate(database, MIGRATIONS, { ...options, which: 'BEFORE_START' });
    const store = postgresAccountStore(database, { ...options, log: null });
    return { ...store, close: () => database.close() };
  } catch (error) {
    await database.close();
    throw refusal(error);
  }
}

const APPLICATION = 'workbench-hub command';

/** Rejects with `StartRefused` when the database cannot be used. */
export async function onDatabase<T>(
  address: DatabaseAddress,
  work: (database: Database) => Promise<T>,
  statementTimeoutMs?: number,
): Promise<T> {
  const database = openPool({
    ...address,
    applicationName: APPLICATION,
    maxConnections: MAX_CONNECTIONS,
    log: null,
    ...(statementTimeoutMs === undefined ? {} : { statementTimeoutMs }),
  });
  try {
    return await work(database);
  } catch (error) {
    throw refusal(error);
  } finally {
    await database.close();
  }
}
