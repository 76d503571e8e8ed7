import type { HeldAttempt, TaskQueue } from '../../core/ports/task-queue.js';
import type { NewTask } from '../../core/task.js';
import { CLAIM_WRITE, type TermedClaim } from './attempt-claims.js';
import { ADOPT_WRITE, attemptWrites, KEEP_FILES_WRITE, REQUEUE_WRITE } from './attempt-writes.js';
import type { ClaimLog } from './claim-log.js';
import { FORGET_KEYS, HAS_KEYS } from './keyed-insertion.js';
import type { Lanes } from './lanes.js';
import type { Database } from './pool.js';
import { queueReads } from './queue-reads.js';
import { requirementIds } from './requirement-ids.js';
import { REMOVE_REQUIREMENTS } from './requirement-removal.js';
import { rowOf } from './statement.js';
import { type Insertion, taskInsertion } from './task-insertion.js';
import type { WebhookOutbox } from './webhook-outbox.js';

export interface TaskQueueOptions {
  readonly db: Database;
  readonly lanes: Lanes;
  readonly claims: ClaimLog;
  readonly outbox: WebhookOutbox;
  /** A batch of claims took place. */
  readonly claimed: () => void;
}

export function postgresTaskQueue(options: TaskQueueOptions): TaskQueue {
  const { db, lanes, outbox } = options;
  const requirements = requirementIds(db);
  const insertion = taskInsertion(requirements);
  const attempts = attemptWrites(outbox);
  const adopt = (held: readonly HeldAttempt[]) => lanes.change.write(ADOPT_WRITE, held);
  return {
    ...queueReads(db),
    insert: async (tasks, waits) => {
      if (tasks.length === 0) return;
      await lanes.insert.write(insertion, insertionOf(tasks), ({ waiting }) => waits?.(waiting));
    },
    insertOnce: async (task, key, waits) => {
      const { taskIds } = await lanes.insert.write(
        insertion,
        { ...insertionOf([task]), key },
        ({ waiting }) => {
          if (waiting.length > 0) waits?.(waiting);
        },
      );
      return { taskId: taskIds[0] ?? task.id };
    },
    forgetKeys: async (requestedBeforeMs) => {
      const found = await rowOf<{ found: number }, 'usedBefore'>(db, HAS_KEYS, {
        usedBefore: requestedBeforeMs,
      });
      return found ? lanes.insert.write(FORGET_KEYS, requestedBeforeMs) : 0;
    },
    removeUnusedGroups: async ({ afterGroupId, limit }) => {
      const page = { afterId: afterGroupId, limit };
      const { nextAfterId } = await lanes.insert.write(REMOVE_REQUIREMENTS, page, ({ removed }) => {
        if (removed > 0) requirements.forget();
      });
      return nextAfterId;
    },
    claim: (asked, term) =>
      claim(
        options,
        asked.map((each) => ({ ...each, term: term ?? null })),
      ),
    // Attempts of one task are told apart in their order.
    adopt: async (held) =>
      new Set(held.map(({ ref }) => ref.taskId)).size === held.length
        ? adopt(held)
        : (await Promise.all(held.map((each) => adopt([each])))).flat(),
    end: (ended, freed) => lanes.change.write(attempts.end, ended, () => freed?.()),
    keepFiles: (canceled) => lanes.change.write(KEEP_FILES_WRITE, canceled),
    requeue: (requeued, freed) => lanes.change.write(REQUEUE_WRITE, requeued, () => freed?.()),
    cancel: (taskIds, from, endedAtMs) =>
      lanes.change.write(
        attempts.cancel,
        taskIds.map((taskId) => ({ taskId, from, endedAtMs })),
      ),
  };
}

async function claim({ lanes, claims, claimed: tell }: TaskQueueOptions, asked: readonly TermedClaim[]) {
  const taskIds = asked.map(({ taskId }) => taskId);
  claims.begin(taskIds);
  try {
    const claimed = await lanes.claim.write(CLAIM_WRITE, asked, (done) =>
      claims.done(
        taskIds,
        done.map(({ seq, ref }) => ({ seq, taskId: ref.taskId })),
      ),
    );
    tell();
    return claimed.map(({ seq: _, ...task }) => task);
  } catch (error) {
    claims.failed(taskIds);
    throw error;
  }
}

function insertionOf(tasks: readonly NewTask[]): Insertion {
  return { tasks, jobs: tasks.map(({ job }) => JSON.stringify(job)) };
}
