/** The stores of which lists are measured. */
import { join } from 'node:path';
import type { TaskQuery } from '@workbench-hub/hub/core/ports/task-archive';
import { pageOf } from '@workbench-hub/hub/store/postgres/lists/list-statements';
import type { SqliteDatabase } from '@workbench-hub/hub/store/sqlite/connection/database';
import { conditionOf } from '@workbench-hub/hub/store/sqlite/lists/filter-condition';
import { countStatement, LIST_STATEMENTS } from '@workbench-hub/hub/store/sqlite/lists/list-statements';
import { migratedOn, type TestDatabase } from '../../support/stores/postgres.js';
import { quantile } from '../figures.js';
import { writeToPostgres } from '../stored-tasks/write-to-postgres.js';
import { startServer } from '../subjects/postgres.js';
import { fillStore, longHistory, type StoreSize } from './fill-store.js';

/** A filled store. */
export interface ListStore {
  /** Settings of its hub. */
  readonly settings: Record<string, unknown>;
  /** Process of its server, if it has one. */
  readonly serverPid?: number;
  /** Shortest time in which the database compares each identifier with a pattern. */
  readonly bareScanMs: number;
  readonly plans: readonly string[];
  end(): Promise<void>;
}

/** Fills a store of the hub in this folder. */
export type OpenListStore = (folder: string, size: StoreSize, seed: number) => Promise<ListStore>;

const SCANS = 5;

export const onSqlite: OpenListStore = async (folder, size, seed) => {
  const db = fillStore(join(folder, 'hub', 'hub.sqlite'), size, seed);
  const scan = db.prepare('SELECT count(*) FROM task WHERE id GLOB ?');
  const store: ListStore = {
    settings: {},
    bareScanMs: await medianMs(async () => scan.get('*abc*')),
    plans: sqlitePlans(db),
    end: () => Promise.resolve(),
  };
  db.close();
  return store;
};

export const onPostgres: OpenListStore = async (_, size, seed) => {
  const server = await startServer();
  try {
    const database = await migratedOn(server);
    await writeToPostgres(database.url, longHistory(size, seed));
    const scan = () => database.query('SELECT count(*) FROM task_request WHERE id LIKE $1', ['%abc%']);
    return {
      settings: { store: database.url },
      serverPid: server.pid,
      bareScanMs: await medianMs(scan),
      plans: await postgresPlans(database),
      end: () => server.end(),
    };
  } catch (error) {
    await server.end();
    throw error;
  }
};

function sqlitePlans(db: SqliteDatabase): string[] {
  const filter = conditionOf({ statuses: ['FINISHED'], name: '*run*' }).sql;
  const counts = { 'count of a name': countStatement(filter, 'BY_STATUS') };
  return Object.entries({ ...LIST_STATEMENTS, ...counts }).flatMap(([name, sql]) => {
    const parameters = Array.from({ length: sql.split('?').length - 1 }, () => null);
    const steps = db.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(...parameters);
    const statement = sql.replaceAll(/\s+/g, ' ').trim();
    return [`query plan of ${name}: ${statement}`, ...steps.map(({ detail }) => `  ${detail}`)];
  });
}

/** Lists of which plans are shown. */
const PLANNED: Readonly<Record<string, Partial<TaskQuery>>> = {
  all: {},
  'page 1,000': { page: 1000 },
  waiting: { statuses: ['WAITING'] },
  'next to run': { statuses: ['WAITING'], order: 'NEXT_TO_RUN_FIRST' },
  name: { name: '*run*' },
  'name and status': { name: '*run*', statuses: ['FINISHED'] },
};

const HINTS = { isNearerToEnd: false, mainStatus: 'FINISHED' } as const;

async function postgresPlans(database: TestDatabase): Promise<string[]> {
  const plans: string[] = [];
  for (const [name, { page = 0, size = 20, order = 'NEWEST_FIRST', ...filter }] of Object.entries(PLANNED)) {
    const { statement, values } = pageOf(
      { statuses: [], ...filter },
      order,
      { offset: page * size, size },
      HINTS,
    );
    const text = `EXPLAIN (ANALYZE, COSTS OFF, BUFFERS OFF) ${statement.text}`;
    const inOrder = statement.parameters.map((parameter) => values[parameter]);
    const steps = await database.query<{ 'QUERY PLAN': string }>(text, inOrder);
    plans.push(`query plan of ${name}`, ...steps.map((step) => `  ${step['QUERY PLAN']}`));
  }
  return plans;
}

async function medianMs(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let scan = 0; scan < SCANS; scan++) {
    const began = performance.now();
    await work();
    times.push(performance.now() - began);
  }
  return quantile(times, 0.5);
}
