/** Opening of the whole store for one hub. */
import { hostname } from 'node:os';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import { claimedTasks } from '../../core/claimed-tasks.js';
import type { SharedPlace } from '../../core/ports/blobs.js';
import type { StoreMetrics } from '../../core/ports/metrics.js';
import type { Roles } from '../../core/ports/roles.js';
import type { Store } from '../../core/ports/store.js';
import type { TaskArchive } from '../../core/ports/task-archive.js';
import { postgresAccountStore } from './accounts/account-store.js';
import { postgresLoginRecords } from './accounts/login-records.js';
import { shareBlobPlace } from './cluster/membership/blob-places.js';
import { hubIdIn } from './cluster/membership/hub-identity.js';
import { openCluster } from './cluster/open-cluster.js';
import { databaseClock } from './connection/database-clock.js';
import { refusal } from './connection/database-fault.js';
import { lockDatabase } from './connection/hub-lock.js';
import { type Database, openPool } from './connection/pool.js';
import { Reachability } from './connection/reachability.js';
import { openConfirmedBatches } from './lanes/confirmed-batches.js';
import { SharedKeyFiles } from './objects/shared-key-files.js';
import { FinishingMigration } from './schema/finish-migration.js';
import { migrate } from './schema/migrate.js';
import { newestGeneration } from './schema/migration.js';
import { MIGRATIONS } from './schema/schema.js';
import { openPostgresStore } from './store.js';
import { refuseUnfit } from './upkeep/check.js';
import type { DatabaseAddress } from './upkeep/maintenance.js';
import { sizesOf } from './upkeep/sizes.js';

export interface OpenForHubOptions {
  /** Folder of the hub, which keeps what was confirmed. */
  readonly dataDir: string;
  /** The configured storage key, under which key files are sealed in the database; null for none. */
  readonly storageKey: string | null;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Logger;
  readonly metrics: StoreMetrics;
  readonly followsServerClock: boolean;
  readonly machine: { readonly clock: Clock; readonly timers: Timers };
  readonly hub: { readonly version: string };
  /** Place of the blobs that other hubs can use, too; null for one of this hub alone. */
  blobPlace(): Promise<SharedPlace | null>;
  /** Name of this start of the hub, which no other has. */
  readonly incarnation: string;
  newId(): string;
  /** The hub must end: another one has the database, or the database has lost what was confirmed. */
  readonly onBroken: (why: Error) => void;
}

/** Opens the store, and joins the hubs of the database. Rejects with `StartRefused` when newer hubs have changed the database too
 *  much, when it lacks confirmed work or cannot be used, and when this hub does not fit those that run on it. */
export async function openForHub(address: DatabaseAddress, options: OpenForHubOptions): Promise<Store> {
  const { dataDir, timers, log, onBroken, incarnation, newId } = options;
  const database = openPool({ ...address, applicationName: `workbench-hub ${hostname()}`, log });
  const opened: (() => unknown)[] = [() => database.close()];
  try {
    await refuseUnfit(database);
    const hubId = await hubIdIn(dataDir, newId);
    const lock = await lockDatabase(database, { mode: 'SHARED', timers, log, onTaken: onBroken });
    opened.push(() => lock.release());
    const { done } = await migrate(database, MIGRATIONS, {
      ...{ timers, holder: incarnation, hubId, version: options.hub.version },
      which: 'BEFORE_START',
    });
    if (done.length > 0) log.info({ done }, 'made or updated the tables of the database');
    log.info({ database: database.location, hubId }, 'the store is a PostgreSQL database');
    return await openMember({ database, hubId, opened }, options);
  } catch (error) {
    for (const close of opened.reverse()) await close();
    throw refusal(error);
  }
}

interface Member {
  readonly database: Database;
  readonly hubId: string;
  /** Ends of what is open, in the order in which it was opened. */
  readonly opened: (() => unknown)[];
}

/** Opens the store as one of the hubs of the database. */
async function openMember({ database, hubId, opened }: Member, options: OpenForHubOptions): Promise<Store> {
  const { incarnation, hub, timers, log } = options;
  let archive: TaskArchive | undefined;
  const cluster = await openCluster(database, {
    ...{ hubId, incarnation, ...hub, generation: newestGeneration(MIGRATIONS) },
    ...options.machine,
    log,
    claimedTasks: async (taskIds) => (archive ? claimedTasks(archive, taskIds) : []),
    onBroken: options.onBroken,
  });
  opened.push(() => cluster.close());
  await shareBlobPlace(database, hubId, await options.blobPlace());
  const isShared = () => cluster.hubs.others() > 0;
  const confirmed = await openConfirmedBatches(database, { ...options, hub: hubId, isShared: isShared() });
  opened.push(() => confirmed.close());
  const clock = await clockOf(database, options, opened);
  const { beginStop, close, logClaimsOfEndedHubs, ...tasks } = await openPostgresStore(database, {
    ...options,
    hub: hubId,
    isShared,
    onDurable: (lane, batch) => confirmed.confirm(lane, batch),
  });
  opened.push(close);
  archive = tasks.archive;
  const finishing = new FinishingMigration(database, {
    ...{ migrations: MIGRATIONS, log, holder: incarnation, hubId, version: hub.version },
    ...options.machine,
  });
  opened.push(() => finishing.end());
  const reachability = new Reachability(database, timers, log);
  opened.push(() => reachability.close());
  return {
    ...tasks,
    accounts: postgresAccountStore(database, options),
    keyFiles: new SharedKeyFiles(database, { ...options, isAlone: () => !isShared() }),
    loginRecords: postgresLoginRecords(database, { clock, timers, log }),
    clock,
    sizes: () => sizesOf(database),
    isReachable: () => reachability.isReachable,
    isOnServer: true,
    beginStop,
    cluster: { ...cluster, roles: withSteps(cluster.roles, logClaimsOfEndedHubs, finishing) },
    close: async () => {
      for (const end of opened.reverse()) await end();
    },
  };
}

async function clockOf(
  database: Database,
  options: OpenForHubOptions,
  opened: Member['opened'],
): Promise<Clock> {
  if (!options.followsServerClock) return options.clock;
  const clock = await databaseClock(database, options);
  opened.push(() => clock.close());
  return clock;
}

/** A role whose terms begin with this step, and with this work beside them. */
function withSteps(
  roles: Roles,
  step: () => Promise<void>,
  beside: Pick<FinishingMigration, 'begin' | 'end'>,
): Roles {
  return {
    contend: ({ gained, lost }) =>
      roles.contend({
        gained: async (term) => {
          await step();
          await gained(term);
          beside.begin();
        },
        lost: async () => {
          // The role does not wait for a long transaction: the next hub takes turns with it.
          void beside.end();
          await lost();
        },
      }),
    resign: () => roles.resign(),
  };
}
