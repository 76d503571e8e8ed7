/** The schema of the store on PostgreSQL, as migrations. A released one never changes, and those that follow a release belong to the next
 *  generation. */
import type { Migration } from './migration.js';
import { tasks } from './migrations/0001-tasks.js';
import { changesAndWebhooks } from './migrations/0002-changes-and-webhooks.js';
import { storage } from './migrations/0003-storage.js';
import { orderAndTerm } from './migrations/0004-order-and-term.js';
import { blobCatalogue } from './migrations/0005-blob-catalogue.js';
import { cluster } from './migrations/0006-cluster.js';
import { shared } from './migrations/0007-shared.js';
import { listBuckets } from './migrations/0008-list-buckets.js';
import { logins } from './migrations/0010-logins.js';
import { schemaGenerations } from './migrations/0012-schema-generations.js';
import { joinNumbers } from './migrations/0013-join-numbers.js';
import { orderOfChanges } from './migrations/0014-order-of-changes.js';
import { lanesOfHubs } from './migrations/0015-lanes-of-hubs.js';
import { uploadsAndKeys } from './migrations/0016-uploads-and-keys.js';
import { kindsOfJobs } from './migrations/0017-kinds-of-jobs.js';
import { taskDurations } from './migrations/0018-task-durations.js';
import { notes } from './migrations/0019-notes.js';
import { joinedHubs } from './migrations/0020-joined-hubs.js';
import { loans } from './migrations/0021-loans.js';
import { studies } from './migrations/0022-studies.js';
import { studyRules } from './migrations/0023-study-rules.js';
import { tasksOfStudies } from './migrations/0024-tasks-of-studies.js';
import { webhooksOfStudies } from './migrations/0025-webhooks-of-studies.js';
import { bundlesOfPoints } from './migrations/0026-bundles-of-points.js';
import { allocations } from './migrations/0027-allocations.js';
import { agentInstallation } from './migrations/0028-agent-installation.js';
import { agentRollouts } from './migrations/0029-agent-rollouts.js';
import { allocationsForUsers } from './migrations/0030-allocations-for-users.js';
import { hostsOfLentInstances } from './migrations/0031-hosts-of-lent-instances.js';
import { resumesOfStudies } from './migrations/0032-resumes-of-studies.js';
import { accounts } from './migrations/0100-accounts.js';

export const MIGRATIONS: readonly Migration[] = [
  tasks,
  changesAndWebhooks,
  storage,
  orderAndTerm,
  blobCatalogue,
  cluster,
  shared,
  listBuckets,
  logins,
  schemaGenerations,
  joinNumbers,
  orderOfChanges,
  lanesOfHubs,
  uploadsAndKeys,
  kindsOfJobs,
  taskDurations,
  notes,
  joinedHubs,
  loans,
  studies,
  studyRules,
  tasksOfStudies,
  webhooksOfStudies,
  bundlesOfPoints,
  allocations,
  agentInstallation,
  agentRollouts,
  allocationsForUsers,
  hostsOfLentInstances,
  resumesOfStudies,
  accounts,
];
