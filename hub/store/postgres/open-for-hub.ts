/** Opening of the whole store for one hub. */
import { hostname } from 'node:os';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import type { StoreMetrics } from '../../core/ports/metrics.js';
import type { Store } from '../../core/ports/store.js';
import { postgresAccountStore } from './accounts/account-store.js';
import { refuseUnfit } from './check.js';
import { hubIdIn } from './cluster/hub-identity.js';
import { type ConfirmedBatches, openConfirmedBatches } from './confirmed-batches.js';
import { databaseClock } from './database-clock.js';
import { refusal } from './database-fault.js';
import { type HubLock, lockDatabase } from './hub-lock.js';
import type { DatabaseAddress } from './maintenance.js';
import { migrate } from './migrate.js';
import { type Database, openPool } from './pool.js';
import { Reachability } from './reachability.js';
import { MIGRATIONS } from './schema.js';
import { sharedKeyFiles } from './shared-key-files.js';
import { sizesOf } from './sizes.js';
import { openPostgresStore } from './store.js';

export interface OpenForHubOptions {
  /** Folder of the hub, which keeps what was confirmed. */
  readonly dataDir: string;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Logger;
  readonly metrics: StoreMetrics;
  /** Name of this start of the hub, which no other has. */
  readonly incarnation: string;
  newId(): string;
  /** The hub must end: another one has the database, or the database has lost what was confirmed. */
  readonly onBroken: (why: Error) => void;
}

/** The store without what joins hubs: one hub has it alone. */
export type StoreOnServer = Omit<Store, 'cluster'>;

/** Rejects with `StartRefused` when another hub has the database open, a newer one has migrated it, it lacks confirmed work, or it
 *  cannot be used. */
export async function openForHub(
  address: DatabaseAddress,
  options: OpenForHubOptions,
): Promise<StoreOnServer> {
  const { dataDir, timers, log, onBroken, incarnation, newId } = options;
  const database = openPool({ ...address, applicationName: `workbench-hub ${hostname()}`, log });
  let lock: HubLock | undefined;
  let confirmed: ConfirmedBatches | undefined;
  try {
    await refuseUnfit(database);
    const hub = await hubIdIn(dataDir, newId);
    lock = await lockDatabase(database, { mode: 'ALONE', timers, log, onTaken: onBroken });
    const done = await migrate(database, MIGRATIONS, { timers, holder: incarnation });
    if (done.length > 0) log.info({ done }, 'made or updated the tables of the database');
    log.info({ database: database.location }, 'the store is a PostgreSQL database');
    confirmed = await openConfirmedBatches(database, { ...options, hub, isShared: false });
    return await storeOn({ database, lock, confirmed, hub }, options);
  } catch (error) {
    confirmed?.close();
    await lock?.release();
    await database.close();
    throw refusal(error);
  }
}

interface OpenedParts {
  readonly database: Database;
  readonly lock: HubLock;
  readonly confirmed: ConfirmedBatches;
  /** Id of the hub. */
  readonly hub: string;
}

async function storeOn(
  { database, lock, confirmed, hub }: OpenedParts,
  options: OpenForHubOptions,
): Promise<StoreOnServer> {
  const clock = await databaseClock(database, options);
  const { close, ...tasks } = await openPostgresStore(database, {
    ...options,
    hub,
    onDurable: (lane, batch) => confirmed.confirm(lane, batch),
  });
  const reachability = new Reachability(database, options.timers, options.log);
  return {
    ...tasks,
    accounts: postgresAccountStore(database, options.log),
    keyFiles: sharedKeyFiles(database, options),
    clock,
    sizes: () => sizesOf(database),
    isReachable: () => reachability.isReachable,
    isOnServer: true,
    close: async () => {
      reachability.close();
      clock.close();
      await close();
      confirmed.close();
      await lock.release();
      await database.close();
    },
  };
}
