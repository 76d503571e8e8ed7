/** The configured store: SQLite files in the data folder, or a PostgreSQL database, whose driver is loaded on demand. */
import { readFile } from 'node:fs/promises';
import type { Finding } from '@workbench-hub/shared/checks/finding';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { RestartNeeded, StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Clock, Runtime, Timers } from '@workbench-hub/shared/runtime/runtime';
import type { SharedPlace } from '../core/ports/blobs.js';
import type { StoreMetrics } from '../core/ports/metrics.js';
import type { OpenedAccountStore, Store } from '../core/ports/store.js';
import type { StoreMaintenance } from '../core/ports/store-maintenance.js';
import type { Migrated } from './postgres/schema/migrate.js';
import type { DatabaseAddress, MigratingOptions } from './postgres/upkeep/maintenance.js';
import { maintenanceOnServer } from './postgres/upkeep/store-maintenance.js';
import type { OwnHub } from './sole-hub/own-hubs.js';
import { soleHub } from './sole-hub/sole-hub.js';
import { openSqliteAccountStore } from './sqlite/accounts/account-store.js';
import { lockDatabase } from './sqlite/connection/database.js';
import {
  accountsFileIn,
  bytesOf,
  tasksFileIn,
  withWriteAheadLog,
} from './sqlite/connection/database-files.js';
import { openSqliteStore } from './sqlite/store.js';
import { sqliteMaintenance } from './sqlite/upkeep/maintenance.js';

/** The part of the configuration that selects the store. */
export interface StoreSettings {
  readonly dataDir: string;
  /** `sqlite`, or the address of a PostgreSQL database. */
  readonly store: string;
  /** File with the password of the database's user, which takes the place of one in the address. */
  readonly storePasswordFile: string | null;
}

/** Whether the store is on files in `dataDir`. */
export function isOnFiles({ store }: Pick<StoreSettings, 'store'>): boolean {
  return store === 'sqlite';
}

export interface StoreOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Logger;
  readonly metrics: StoreMetrics;
  /** Clock and timers of the machine, also where those above are simulated: the time of other hubs is not. */
  readonly machine: { readonly clock: Clock; readonly timers: Timers };
  /** Whether times that are stored follow the clock of a database server. Not where time is simulated. */
  readonly followsServerClock: boolean;
  /** The configured storage key (Base64), if there is one. */
  readonly storageKey?: string | null;
  /** This hub, as the others know it. */
  readonly hub: OwnHub;
  /** Place of the blobs that other hubs can use, too; null for one of this hub alone. */
  blobPlace(): Promise<SharedPlace | null>;
  newId(): string;
}

/** Opens the store for one hub; all that it then shows is durable. Rejects with `StartRefused` when another hub has it open,
 *  when a newer version wrote it, or when it cannot be used. */
export async function openStore(settings: StoreSettings, options: StoreOptions): Promise<Store> {
  return isOnFiles(settings) ? openOnFiles(settings, options) : openOnServer(settings, options);
}

async function openOnServer(settings: StoreSettings, options: StoreOptions): Promise<Store> {
  const { openForHub } = await import('./postgres/open-for-hub.js');
  const { newId } = options;
  const onBroken = ({ message }: Error) =>
    end(new RestartNeeded(`the hub ends, because it cannot use its database any more: ${message}`));
  const { dataDir } = settings;
  const address = await addressOf(settings);
  // Blobs and keys are in the data folder, whatever the store: a hub on files takes the same lock.
  const lock = lockDatabase(tasksFileIn(dataDir), `the data folder ${dataDir}`);
  try {
    const store = await openForHub(address, {
      ...options,
      dataDir,
      storageKey: options.storageKey ?? null,
      incarnation: newId(),
      onBroken,
    });
    return {
      ...store,
      close: async () => {
        await store.close();
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** Ends the process by an uncaught exception. */
function end(error: RestartNeeded): void {
  setImmediate(() => {
    throw error;
  });
}

async function openOnFiles({ dataDir }: StoreSettings, options: StoreOptions): Promise<Store> {
  const { clock, timers, log, metrics, hub } = options;
  const [tasksFile, accountsFile] = [tasksFileIn(dataDir), accountsFileIn(dataDir)];
  const { syncLeftOver, ...tasks } = openSqliteStore(tasksFile, timers, log, { clock, metrics });
  try {
    await syncLeftOver();
    const accounts = openSqliteAccountStore(accountsFile, log);
    return {
      ...tasks,
      accounts,
      cluster: soleHub({ agents: tasks.agents, queue: tasks.queue, hub, clock, log }),
      keyFiles: null,
      loginRecords: null,
      clock,
      sizes: async () => ({
        tasks: await bytesOf(withWriteAheadLog(tasksFile)),
        accounts: await bytesOf(withWriteAheadLog(accountsFile)),
      }),
      isReachable: () => true,
      isOnServer: false,
      beginStop: () => undefined,
      close: async () => {
        await accounts.close();
        await tasks.close();
      },
    };
  } catch (error) {
    await tasks.close();
    throw error;
  }
}

/** Opens the accounts alone, for a command beside the running hub. Rejects with `StartRefused` when they cannot be opened. */
export async function openAccountStore(
  settings: StoreSettings,
  runtime: Runtime,
): Promise<OpenedAccountStore> {
  if (isOnFiles(settings)) return openSqliteAccountStore(accountsFileIn(settings.dataDir), null);
  const { openPostgresAccounts } = await import('./postgres/upkeep/maintenance.js');
  return openPostgresAccounts(await addressOf(settings), optionsOf(runtime));
}

/** Accounts that end with the process, for a hub without security. */
export function openVolatileAccountStore(log: Logger): OpenedAccountStore {
  return openSqliteAccountStore(':memory:', log);
}

/** `dataDir` may be the folder of an unpacked backup. */
export function storeMaintenance(settings: StoreSettings): StoreMaintenance {
  if (isOnFiles(settings)) return sqliteMaintenance(settings.dataDir);
  return maintenanceOnServer(settings.dataDir, async () => {
    const { openInspection } = await import('./postgres/upkeep/inspection.js');
    return openInspection(await addressOf(settings));
  });
}

/** Checks whether a hub can work on the database server of these settings. Rejects with `StartRefused` for a store on files. */
export async function checkStore(settings: StoreSettings, runtime: Runtime): Promise<Finding[]> {
  const { checkPostgres } = await import('./postgres/upkeep/maintenance.js');
  return checkPostgres(await addressOf(settings), settings.dataDir, runtime);
}

/** Brings the tables of the database server up to date, as far as the hubs that work on them allow. Rejects with `StartRefused` when they do
 *  not allow what this version needs, when the server cannot be used, and for a store on files. */
export async function migrateStore(settings: StoreSettings, runtime: Runtime): Promise<Migrated> {
  const { migratePostgres } = await import('./postgres/upkeep/maintenance.js');
  return migratePostgres(await addressOf(settings), optionsOf(runtime));
}

/** Accepts that the database server lacks work that it had confirmed, such as after the restore of a backup; resolves with the
 *  missing work in words, undefined when none is missing. Rejects with `StartRefused` while a hub runs on it, when it cannot
 *  be used, and for a store on files. */
export async function acceptLossOfStore(
  settings: StoreSettings,
  runtime: Runtime,
): Promise<string | undefined> {
  const { acceptLossOnPostgres } = await import('./postgres/upkeep/maintenance.js');
  return acceptLossOnPostgres(await addressOf(settings), settings.dataDir, runtime);
}

function optionsOf({ clock, timers, newId }: Runtime): MigratingOptions {
  return { clock, timers, holder: newId(), version: buildInfo.version };
}

async function addressOf({
  store,
  storePasswordFile: file,
  ...rest
}: StoreSettings): Promise<DatabaseAddress> {
  if (isOnFiles({ store }))
    throw new StartRefused(
      `the store is sqlite, files in ${rest.dataDir}: a start of the hub brings them up to date, and "workbench-hub doctor" checks them`,
    );
  if (file === null) return { url: store, password: null };
  try {
    return { url: store, password: (await readFile(file, 'utf8')).trim() };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new StartRefused(
      `storePasswordFile: ${file} ${code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`}: correct the path, or the rights of the file`,
      { cause: error },
    );
  }
}
