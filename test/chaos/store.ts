/** The stores that a chaos run can audit. Each records every end of a task, by a trigger. */
import { join } from 'node:path';
import { auditRows, type Findings, recordEnds, sqliteRows } from './audit.js';
import { ChaosDatabase } from './database.js';
import type { Acknowledged } from './load.js';

export const STORES = ['sqlite', 'postgres'] as const;
export type StoreKind = (typeof STORES)[number];

export interface ChaosStore {
  /** Settings of the hub. */
  readonly settings: object;
  /** The server that faults strike; undefined for a store on files. */
  readonly database: ChaosDatabase | undefined;
  /** Called when a hub has made its tables, before anybody uses them. */
  prepare(): Promise<void>;
  /** Compares the rows with what clients were told, after the stop of the hub. */
  audit(tasks: readonly Acknowledged[], findings: Findings): Promise<void>;
  release(): Promise<void>;
}

export async function openStore(kind: StoreKind, folder: string): Promise<ChaosStore> {
  if (kind === 'postgres') return onServer(await ChaosDatabase.start());
  const file = join(folder, 'hub', 'hub.sqlite');
  return {
    settings: {},
    database: undefined,
    prepare: async () => recordEnds(file),
    audit: async (tasks, findings) => auditRows(sqliteRows(file, findings), tasks, findings),
    release: () => Promise.resolve(),
  };
}

function onServer(database: ChaosDatabase): ChaosStore {
  return {
    settings: { store: database.url },
    database,
    prepare: () => database.recordEnds(),
    audit: async (tasks, findings) => auditRows(await database.rows(), tasks, findings),
    release: () => database.release(),
  };
}
