/** The stores in which a backlog waits. */
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { migratedOn } from '../../support/stores/postgres.js';
import { writeToPostgres } from '../stored-tasks/write-to-postgres.js';
import { writeToSqlite } from '../stored-tasks/write-to-sqlite.js';
import { startServer } from '../subjects/postgres.js';
import { waitingTasks } from './waiting-tasks.js';

/** The store of one hub. */
export interface HubStore {
  /** Value of `store`; the default when left out. */
  readonly store?: string;
  /** Process of its server, if it has one. */
  readonly serverPid?: number;
  remove(): Promise<void>;
}

export interface BacklogStore {
  /** A store for a hub with this data folder; with the backlog or empty. */
  open(dataDir: string, filled: boolean): Promise<HubStore>;
  end(): Promise<void>;
}

/** Writes a backlog of this size. */
export type OpenBacklog = (folder: string, count: number, seed: number) => Promise<BacklogStore>;

export const onSqlite: OpenBacklog = async (folder, count, seed) => {
  const file = join(folder, 'backlog.sqlite');
  writeToSqlite(file, waitingTasks(count, seed)).close();
  return {
    open: async (dataDir, filled) => {
      mkdirSync(dataDir);
      if (filled) copyFileSync(file, join(dataDir, 'hub.sqlite'));
      return { remove: () => Promise.resolve() };
    },
    end: () => Promise.resolve(),
  };
};

export const onPostgres: OpenBacklog = async (_, count, seed) => {
  const server = await startServer();
  try {
    const backlog = await migratedOn(server);
    await writeToPostgres(backlog.url, waitingTasks(count, seed));
    return {
      open: async (_dataDir, filled) => {
        const database = await server.create(filled ? `${backlog.name} STRATEGY file_copy` : 'template0');
        return { store: database.url, serverPid: server.pid, remove: () => database.drop() };
      },
      end: () => server.end(),
    };
  } catch (error) {
    await server.end();
    throw error;
  }
};
