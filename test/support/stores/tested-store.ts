/** The store of the hubs of tests: SQLite or, with STORE=postgres in the environment, a database for each data folder. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { OpenedAccountStore } from '@workbench-hub/hub/core/ports/store';
import { openAccountStore, type StoreSettings } from '@workbench-hub/hub/store/open-store';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { keepSecret } from '../secrets.js';

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

/** Works on the accounts beside the hub with this data folder, as a command of the operator does. */
export async function withAccountsOf<T>(
  dataDir: string,
  work: (accounts: OpenedAccountStore) => Promise<T>,
): Promise<T> {
  const accounts = await openAccountStore(await storeSettingsFor(dataDir), systemRuntime);
  try {
    return await work(accounts);
  } finally {
    await accounts.close();
  }
}

/** All that the store of a hub keeps, as text. */
export async function keptInStore(dataDir: string): Promise<string> {
  if (TESTED_STORE === 'postgres') {
    const { contentOf } = await import('./postgres.js');
    return contentOf(await storeFor(dataDir));
  }
  const names = (await readdir(dataDir)).filter((name) => name.includes('.sqlite'));
  const files = await Promise.all(names.map((name) => readFile(join(dataDir, name), 'latin1')));
  return files.join('\n');
}

/** The file in a data folder without which a start does not know what the store had confirmed, as after a restore. */
export function confirmedFileOf(dataDir: string): string {
  return join(dataDir, TESTED_STORE === 'sqlite' ? 'hub.sqlite-confirmed' : 'database-confirmed');
}

/** Removes the database of a data folder that is removed. */
export async function dropStoreFor(dataDir: string): Promise<void> {
  const database = await databases.get(dataDir);
  databases.delete(dataDir);
  await database?.drop();
}

async function newDatabase() {
  const { migratedDatabase } = await import('./postgres.js');
  const database = await migratedDatabase();
  keepSecret(new URL(database.url).password);
  return database;
}
