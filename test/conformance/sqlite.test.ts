/** The suites of task stores on SQLite, with real files and timers. */
import { join } from 'node:path';
import { openSqliteStore } from '@workbench-hub/hub/store/sqlite/store';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { describe } from 'vitest';
import { memoryLog } from '../support/memory-log.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { describeRememberedThings } from './agents-and-blobs-suite.js';
import { describeAttemptTransitions } from './attempt-transitions-suite.js';
import { describeStoredNames } from './named-objects-suite.js';
import { describeResumableUploads } from './resumable-uploads-suite.js';
import type { StoreUnderTest } from './store-under-test.js';
import { describeTaskArchive } from './task-archive-suite.js';
import { describeTaskChanges } from './task-changes-suite.js';
import { describeTaskExclusions } from './task-exclusions-suite.js';
import { describeTaskLifecycle } from './task-lifecycle-suite.js';
import { describeTaskLists } from './task-lists-suite.js';
import { describeTaskQueue } from './task-queue-suite.js';
import { describeTaskStatistics } from './task-statistics-suite.js';
import { describeWebhookDeliveries } from './webhook-deliveries-suite.js';

async function open(): Promise<StoreUnderTest> {
  const folder = await temporaryFolder();
  const file = join(folder.path, 'hub.sqlite');
  const openOnce = (): StoreUnderTest => {
    const store = openSqliteStore(file, systemRuntime.timers, memoryLog().log);
    return {
      ...store,
      reopen: async () => {
        await store.close();
        return openOnce();
      },
      close: async () => {
        await store.close();
        await folder.remove();
      },
    };
  };
  return openOnce();
}

describe.each([
  ['queue', describeTaskQueue],
  ['transitions of attempts', describeAttemptTransitions],
  ['transitions of tasks', describeTaskLifecycle],
  ['archive', describeTaskArchive],
  ['lists', describeTaskLists],
  ['changes', describeTaskChanges],
  ['statistics', describeTaskStatistics],
  ['exclusions', describeTaskExclusions],
  ['deliveries of webhooks', describeWebhookDeliveries],
  ['remembered things', describeRememberedThings],
  ['names in the storage', describeStoredNames],
  ['resumable uploads', describeResumableUploads],
])('SQLite: %s', (_, suite) => suite(open));
