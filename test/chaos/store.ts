/** The stores that a chaos run can audit. Each records every end of a task, by a trigger. */
import { join } from 'node:path';
import {
  type AuditedRow,
  auditRows,
  type Findings,
  recordEnds,
  sqliteCountWhere,
  sqliteRowCounts,
  sqliteRows,
} from './audit.js';
import { ChaosDatabase } from './database.js';
import type { Acknowledged } from './load.js';
import { auditRuns, ledgerIn } from './runs.js';

export const STORES = ['sqlite', 'postgres'] as const;
export type StoreKind = (typeof STORES)[number];

export interface ChaosStore {
  /** Settings of a hub, by its number. */
  settingsOf(hub: number): object;
  /** The server that faults strike; undefined for a store on files. */
  readonly database: ChaosDatabase | undefined;
  /** Called when the hubs have made its tables, before anybody uses them. */
  prepare(): Promise<void>;
  /** Compares the rows with what clients were told and with the runs of scripts, after the stop of the hubs. */
  audit(tasks: readonly Acknowledged[], findings: Findings): Promise<void>;
  /** Number of rows of each table. */
  rowCounts(): Promise<ReadonlyMap<string, number>>;
  /** Number of rows of a table that meet a condition in SQL. */
  countWhere(table: string, condition: string): Promise<number>;
  release(): Promise<void>;
}

/** `hubs`: number of hubs; several need the store on PostgreSQL. */
export async function openStore(kind: StoreKind, folder: string, hubs: number): Promise<ChaosStore> {
  const audit = (
    rows: ReadonlyMap<string, AuditedRow>,
    crashesS: readonly number[],
    tasks: readonly Acknowledged[],
    findings: Findings,
  ) => {
    auditRows(rows, tasks, findings);
    auditRuns(ledgerIn(folder), rows, crashesS, findings.twice);
  };
  if (kind === 'postgres') {
    const database = await ChaosDatabase.start(hubs);
    return {
      settingsOf: (hub) => {
        const link = database.links[hub];
        if (!link) throw new Error(`hub ${hub} has no link to the database`);
        return { store: database.urlBy(link) };
      },
      database,
      prepare: () => database.recordEnds(),
      audit: async (tasks, findings) => audit(await database.rows(), database.crashesS, tasks, findings),
      rowCounts: () => database.rowCounts(),
      countWhere: (table, condition) => database.countWhere(table, condition),
      release: () => database.release(),
    };
  }
  const file = join(folder, 'hub', 'hub.sqlite');
  return {
    settingsOf: () => ({}),
    database: undefined,
    prepare: async () => recordEnds(file),
    audit: async (tasks, findings) => audit(sqliteRows(file, findings), [], tasks, findings),
    rowCounts: async () =>
      new Map([...sqliteRowCounts(file), ...sqliteRowCounts(join(folder, 'hub', 'accounts.sqlite'))]),
    countWhere: async (table, condition) => sqliteCountWhere(file, table, condition),
    release: () => Promise.resolve(),
  };
}
