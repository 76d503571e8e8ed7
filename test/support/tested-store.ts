/** The store of the hubs of tests: SQLite or, with STORE=postgres in the environment, a database for each data folder. */
import type { StoreSettings } from '@workbench-hub/hub/store/open-store';
import { keepSecret } from './secrets.js';

/** Kind of store that hubs get which do not choose one. */
export const TESTED_STORE: 'sqlite' | 'postgres' =
  process.env['STORE'] === 'postgres' ? 'postgres' : 'sqlite';

const databases = new Map<string, Promise<{ readonly url: string; drop(): Promise<void> }>>();

/** The value of `store` for a hub with this data folder, the same for the same folder. */
export async function storeFor(dataDir: string): Promise<string> {
  if (TESTED_STORE === 'sqlite') return 'sqlite';
  const database = databases.get(dataDir) ?? newDatabase();
  databases.set(dataDir, database);
  return (await database).url;
}

/** Settings by which a command opens the store beside the hub with this data folder. */
export async function storeSettingsFor(dataDir: string): Promise<StoreSettings> {
  return { dataDir, store: await storeFor(dataDir), storePasswordFile: null };
}

/** Removes the database of a data folder that is removed. */
export async function dropStoreFor(dataDir: string): Promise<void> {
  const database = await databases.get(dataDir);
  databases.delete(dataDir);
  await database?.drop();
}

async function newDatabase() {
  const { emptyDatabase } = await import('./postgres.js');
  const database = await emptyDatabase();
  keepSecret(new URL(database.url).password);
  return database;
}
