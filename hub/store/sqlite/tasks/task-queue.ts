import type { TaskQueue } from '../../../core/ports/task-queue.js';
import type { SqliteDatabase } from '../connection/database.js';
import type { GroupCommit } from '../connection/group-commit.js';
import { type PendingCompletions, trackCompletions } from '../connection/pending-completions.js';
import type { NameTable } from '../objects/named-objects.js';
import type { ChangedTasks } from '../rows/changed-tasks.js';
import { attemptWrites } from './attempt-writes.js';
import { keyedInsertions } from './keyed-insertion.js';
import { queueReads } from './queue-reads.js';
import { requirementIds } from './requirement-ids.js';
import { requirementRemoval } from './requirement-removal.js';
import { taskInsertion } from './task-insertion.js';
import type { WebhookOutbox } from './webhook-outbox.js';

export interface TaskQueueParts {
  readonly db: SqliteDatabase;
  readonly commit: GroupCommit;
  readonly changed: ChangedTasks;
  readonly pending: PendingCompletions;
  readonly names: NameTable;
  readonly outbox: WebhookOutbox;
}

export function sqliteTaskQueue({ db, commit, changed, pending, names, outbox }: TaskQueueParts): TaskQueue {
  const requirements = requirementIds(db, commit);
  const insert = taskInsertion(db, changed, requirements, outbox);
  const keyed = keyedInsertions(db, insert);
  const removeUnusedRequirements = requirementRemoval(db);
  const attempts = attemptWrites(db, changed, names);
  return {
    ...queueReads(db),
    insert: async (tasks, waits) => {
      await commit.durable(() => tasks.map(insert), waits);
    },
    insertOnce: async (task, key, waits) => {
      const { taskId } = await commit.durable(
        () => keyed.insert(task, key),
        ({ waiting }) => {
          if (waiting.length > 0) waits?.(waiting);
        },
      );
      return { taskId };
    },
    forgetKeys: async (requestedBeforeMs) =>
      keyed.has(requestedBeforeMs) ? commit.freeing(() => keyed.forget(requestedBeforeMs)) : 0,
    removeUnusedGroups: (page) =>
      commit.freeing(
        () => {
          const { removed, nextAfterId } = removeUnusedRequirements(page.afterGroupId, page.limit);
          if (removed > 0) requirements.forget();
          return nextAfterId;
        },
        { durable: false },
      ),
    claim: (claims) => commit.relaxed(() => claims.flatMap(attempts.claim)),
    adopt: (held) => commit.durable(() => held.map(attempts.adopt)),
    end: (ended, freed) => {
      const written = trackCompletions(
        pending,
        ended.map(({ ref }) => ref.taskId),
        commit.durable(() => ended.map(attempts.end)),
      );
      // A claim from now on is written after it.
      freed?.();
      return written;
    },
    keepFiles: (canceled) => commit.durable(() => canceled.map(attempts.keepFiles)),
    requeue: (requeued, freed) => {
      const written = commit.durable(() => requeued.map(attempts.requeue));
      freed?.();
      return written;
    },
    cancel: (taskIds, from, endedAtMs) => {
      const statuses = JSON.stringify(from);
      return trackCompletions(
        pending,
        taskIds,
        commit.freeing(() => taskIds.map((id) => attempts.cancel(id, statuses, endedAtMs))),
      );
    },
  };
}
