/** Maintenance of a PostgreSQL database, which loads its driver at the first question. */
import { resolve } from 'node:path';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { StoreMaintenance } from '../../../core/ports/store-maintenance.js';

/** Inspections of a database on a server. */
export type Inspection = Omit<StoreMaintenance, 'databases' | 'files'>;

/** `dataDir` has the other files of the hub. */
export function maintenanceOnServer(dataDir: string, open: () => Promise<Inspection>): StoreMaintenance {
  return {
    databases: [],
    files: () => {
      throw new StartRefused(
        'backup and restore are for the store sqlite: save and restore the PostgreSQL database with its own tools (pg_dump and ' +
          `pg_restore, or continuous archiving), and after it the files and keys in ${resolve(dataDir)}`,
      );
    },
    exists: async () => (await open()).exists(),
    hasTasks: async () => (await open()).hasTasks(),
    isInUse: async () => (await open()).isInUse(),
    inspect: async (options) => (await open()).inspect(options),
    referencedBlobs: async () => (await open()).referencedBlobs(),
    blobObjects: async () => (await open()).blobObjects(),
    damagedInlineBlobs: async () => (await open()).damagedInlineBlobs(),
    tasksReferringTo: async (digest, limit) => (await open()).tasksReferringTo(digest, limit),
    tasksByStatus: async () => (await open()).tasksByStatus(),
    agentClocks: async () => (await open()).agentClocks(),
    hubs: async () => (await open()).hubs(),
  };
}
