/** All suites of task stores, in one list, so that each store passes every one of them. */
import { describe } from 'vitest';
import { describeAgentRollouts } from './agent-rollouts-suite.js';
import { describeRememberedThings } from './agents-and-blobs-suite.js';
import { describeAllocations } from './allocations-suite.js';
import { describeAttemptTransitions } from './attempt-transitions-suite.js';
import { describeBlobCatalogue } from './blob-catalogue-suite.js';
import { describeStoredNames } from './named-objects-suite.js';
import { describeOpenLoans } from './open-loans-suite.js';
import { describeResumableUploads } from './resumable-uploads-suite.js';
import type { OpenStore } from './store-under-test.js';
import { describeStudies } from './studies-suite.js';
import { describeTaskArchive } from './task-archive-suite.js';
import { describeTaskChanges } from './task-changes-suite.js';
import { describeTaskExclusions } from './task-exclusions-suite.js';
import { describeTaskLifecycle } from './task-lifecycle-suite.js';
import { describeTaskLists } from './task-lists-suite.js';
import { describeTaskQueue } from './task-queue-suite.js';
import { describeTaskStatistics } from './task-statistics-suite.js';
import { describeWebhookDeliveries } from './webhook-deliveries-suite.js';

/** `name` is that of the store. */
export function describeTaskStore(name: string, open: OpenStore): void {
  describe.each([
    ['queue', describeTaskQueue],
    ['transitions of attempts', describeAttemptTransitions],
    ['transitions of tasks', describeTaskLifecycle],
    ['archive', describeTaskArchive],
    ['lists', describeTaskLists],
    ['changes', describeTaskChanges],
    ['statistics', describeTaskStatistics],
    ['exclusions', describeTaskExclusions],
    ['open loans', describeOpenLoans],
    ['allocations', describeAllocations],
    ['rollouts', describeAgentRollouts],
    ['studies', describeStudies],
    ['deliveries of webhooks', describeWebhookDeliveries],
    ['remembered things', describeRememberedThings],
    ['names in the storage', describeStoredNames],
    ['resumable uploads', describeResumableUploads],
    ['catalogue of blobs', describeBlobCatalogue],
  ])(`${name}: %s`, (_, suite) => suite(open));
}
