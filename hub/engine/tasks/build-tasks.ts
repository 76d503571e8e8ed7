/** Tasks as clients ask for them. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { BlobStore } from '../../core/ports/blobs.js';
import type { TaskArchive } from '../../core/ports/task-archive.js';
import type { ResultWaiters } from '../following/result-waiters.js';
import type { RunningOutput } from '../following/running-output.js';
import type { ShutdownPreparation } from '../scheduling/shutdown-preparation.js';
import type { TaskTransitions } from '../transitions/task-transitions.js';
import type { Explanations } from '../waiting/explanations.js';
import type { Webhooks } from '../webhooks/webhooks.js';
import { BulkChanges } from './bulk-changes.js';
import { TaskDetailsReader } from './task-details.js';
import { TaskLists } from './task-lists.js';
import { Tasks } from './tasks.js';

export interface TaskPorts {
  readonly archive: TaskArchive;
  readonly files: BlobStore;
  readonly defaultVersion: string | null;
  readonly runtime: Runtime;
  readonly log: Logger;
}

/** The subjects that were built before. */
interface Before {
  readonly transitions: TaskTransitions;
  readonly resultWaiters: ResultWaiters;
  readonly runningOutput: RunningOutput;
  readonly shutdown: ShutdownPreparation;
  readonly explanations: Explanations;
  readonly webhooks: Webhooks | null;
}

export function buildTasks({ archive, files, defaultVersion, runtime, log }: TaskPorts, before: Before) {
  const { transitions, resultWaiters, runningOutput: output, shutdown, explanations, webhooks } = before;
  const lists = new TaskLists(archive);
  const tasks = new Tasks({
    ...{ transitions, archive, lists, files, resultWaiters, output, shutdown, explanations, webhooks },
    ...{ defaultVersion, runtime, log },
  });
  return {
    tasks,
    details: new TaskDetailsReader({ tasks, archive, files, webhooks }),
    bulkChanges: new BulkChanges({ lists, transitions, files }),
  };
}
