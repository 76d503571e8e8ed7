/** The configured store. SQLite files in the data folder are the only kind; another one is chosen here. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import type { StoreMetrics } from '../core/ports/metrics.js';
import type { OpenedAccountStore, Store } from '../core/ports/store.js';
import type { StoreMaintenance } from '../core/ports/store-maintenance.js';
import { soleHub } from './sole-hub/sole-hub.js';
import { openSqliteAccountStore } from './sqlite/accounts/account-store.js';
import { accountsFileIn, bytesOf, tasksFileIn, withWriteAheadLog } from './sqlite/database-files.js';
import { sqliteMaintenance } from './sqlite/maintenance.js';
import { openSqliteStore } from './sqlite/store.js';

/** The part of the configuration that selects the store. */
export interface StoreSettings {
  readonly dataDir: string;
}

export interface StoreOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Logger;
  readonly metrics: StoreMetrics;
}

/** Opens the store for one hub; all that it then shows is durable. Rejects with `StartRefused` when another hub has it open,
 *  when a newer version wrote it, or when it is damaged. */
export async function openStore({ dataDir }: StoreSettings, options: StoreOptions): Promise<Store> {
  const { clock, timers, log, metrics } = options;
  const [tasksFile, accountsFile] = [tasksFileIn(dataDir), accountsFileIn(dataDir)];
  const { syncLeftOver, ...tasks } = openSqliteStore(tasksFile, timers, log, { clock, metrics });
  try {
    await syncLeftOver();
    const accounts = openSqliteAccountStore(accountsFile, log);
    return {
      ...tasks,
      accounts,
      cluster: soleHub({ agents: tasks.agents, clock, log }),
      clock,
      sizes: async () => ({
        tasks: await bytesOf(withWriteAheadLog(tasksFile)),
        accounts: await bytesOf(withWriteAheadLog(accountsFile)),
      }),
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

/** Opens the accounts alone, for a command beside the running hub. */
export function openAccountStore({ dataDir }: StoreSettings): OpenedAccountStore {
  return openSqliteAccountStore(accountsFileIn(dataDir), null);
}

/** Accounts that end with the process, for a hub without security. */
export function openVolatileAccountStore(log: Logger): OpenedAccountStore {
  return openSqliteAccountStore(':memory:', log);
}

/** `dataDir` may be the folder of an unpacked backup. */
export function storeMaintenance({ dataDir }: StoreSettings): StoreMaintenance {
  return sqliteMaintenance(dataDir);
}
