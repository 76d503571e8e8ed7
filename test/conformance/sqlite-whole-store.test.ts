/** The suite of whole stores on SQLite, as the hub opens it. */
import { join } from 'node:path';
import { openStore, storeMaintenance } from '@workbench-hub/hub/store/open-store';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { describe } from 'vitest';
import { memoryLog } from '../support/memory-log.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { describeWholeStore, type WholeStoreUnderTest } from './whole-store-suite.js';

async function open(): Promise<WholeStoreUnderTest> {
  const folder = await temporaryFolder();
  const dataDir = join(folder.path, 'hub');
  const metrics = { written: () => undefined, synced: () => undefined, failed: () => undefined };
  const settings = { dataDir, store: 'sqlite', storePasswordFile: null };
  const store = await openStore(settings, {
    ...systemRuntime,
    log: memoryLog().log,
    metrics,
    hub: { version: '' },
    machine: systemRuntime,
    followsServerClock: true,
    blobPlace: async () => null,
  });
  let isClosed = false;
  const close = async () => {
    if (!isClosed) await store.close();
    isClosed = true;
  };
  return {
    store: { ...store, close },
    maintenance: storeMaintenance(settings),
    unused: storeMaintenance({ ...settings, dataDir: join(folder.path, 'unused') }),
    remove: async () => {
      await close();
      await folder.remove();
    },
  };
}

describe('SQLite: whole store', () => describeWholeStore(open));
