import type {
  AdoptedAttempt,
  CanceledAttempt,
  EndedAttempt,
  HeldAttempt,
  RequeuedAttempt,
  TaskQueue,
} from '../../../core/ports/task-queue.js';
import type { NewTask } from '../../../core/task.js';
import type { Database } from '../connection/pool.js';
import { rowOf } from '../connection/statement.js';
import type { Items } from '../lanes/batch-items.js';
import type { ClaimLog } from '../lanes/claim-log.js';
import type { LaneWrite } from '../lanes/lane-statements.js';
import type { Lanes } from '../lanes/lanes.js';
import { CLAIM_WRITE, type Claimed, type TermedClaim } from './attempt-claims.js';
import {
  ADOPT_WRITE,
  attemptWrites,
  type Cancel,
  KEEP_FILES_WRITE,
  REQUEUE_WRITE,
} from './attempt-writes.js';
import { FORGET_KEYS, HAS_KEYS } from './keyed-insertion.js';
import { queueReads } from './queue-reads.js';
import { requirementIds } from './requirement-ids.js';
import {
  REMOVE_REQUIREMENTS,
  type RemovedRequirements,
  type RequirementPage,
} from './requirement-removal.js';
import { type Inserted, type Insertion, taskInsertion } from './task-insertion.js';
import type { WebhookOutbox } from './webhook-outbox.js';

export interface TaskQueueOptions {
  /** For what lanes read, which repeat what failed. */
  readonly db: Database;
  /** For what clients read. */
  readonly reads: Database;
  readonly lanes: Lanes;
  readonly claims: ClaimLog;
  readonly outbox: WebhookOutbox;
  /** A batch of claims took place. */
  readonly claimed: () => void;
}

/** The writes of the queue, one for each statement. */
export interface QueueWrites {
  readonly insert: LaneWrite<Insertion, Inserted>;
  readonly forgetKeys: LaneWrite<number, number>;
  readonly removeRequirements: LaneWrite<RequirementPage, RemovedRequirements>;
  readonly claim: LaneWrite<Items<TermedClaim>, readonly Claimed[]>;
  readonly adopt: LaneWrite<Items<HeldAttempt>, (AdoptedAttempt | null)[]>;
  readonly end: LaneWrite<Items<EndedAttempt>, boolean[]>;
  readonly keepFiles: LaneWrite<Items<CanceledAttempt>, boolean[]>;
  readonly requeue: LaneWrite<Items<RequeuedAttempt>, boolean[]>;
  readonly cancel: LaneWrite<Items<Cancel>, boolean[]>;
}

export interface QueueReads extends ReturnType<typeof queueReads> {
  /** Whether keys were used before this time. */
  hasKeys(usedBeforeMs: number): Promise<boolean>;
}

export interface QueueInLanesOptions extends Pick<TaskQueueOptions, 'lanes' | 'claims' | 'claimed'> {
  readonly reads: QueueReads;
  readonly writes: QueueWrites;
  readonly onRequirementsRemoved: () => void;
}

export function postgresTaskQueue({ db, reads: readable, outbox, ...options }: TaskQueueOptions): TaskQueue {
  const requirements = requirementIds(db);
  const reads: QueueReads = {
    ...queueReads(readable),
    hasKeys: async (usedBefore) =>
      (await rowOf<{ found: number }, 'usedBefore'>(readable, HAS_KEYS, { usedBefore })) !== undefined,
  };
  const writes: QueueWrites = {
    ...attemptWrites(outbox),
    insert: taskInsertion(requirements),
    forgetKeys: FORGET_KEYS,
    removeRequirements: REMOVE_REQUIREMENTS,
    claim: CLAIM_WRITE,
    adopt: ADOPT_WRITE,
    keepFiles: KEEP_FILES_WRITE,
    requeue: REQUEUE_WRITE,
  };
  return queueInLanes({ ...options, reads, writes, onRequirementsRemoved: () => requirements.forget() });
}

/** The queue over the lanes of a hub, whatever performs its statements. */
export function queueInLanes(options: QueueInLanesOptions): TaskQueue {
  const { lanes, reads, writes } = options;
  const adopt = (held: readonly HeldAttempt[]) => lanes.change.write(writes.adopt, held);
  return {
    ...reads,
    insert: async (tasks, waits) => {
      if (tasks.length === 0) return;
      await lanes.insert.write(writes.insert, insertionOf(tasks), ({ waiting }) => waits?.(waiting));
    },
    insertOnce: async (task, key, waits) => {
      const { taskIds } = await lanes.insert.write(
        writes.insert,
        { ...insertionOf([task]), key },
        ({ waiting }) => {
          if (waiting.length > 0) waits?.(waiting);
        },
      );
      return { taskId: taskIds[0] ?? task.id };
    },
    forgetKeys: async (requestedBeforeMs) =>
      (await reads.hasKeys(requestedBeforeMs)) ? lanes.insert.write(writes.forgetKeys, requestedBeforeMs) : 0,
    removeUnusedGroups: async ({ afterGroupId, limit }) => {
      const page = { afterId: afterGroupId, limit };
      const { nextAfterId } = await lanes.insert.write(writes.removeRequirements, page, ({ removed }) => {
        if (removed > 0) options.onRequirementsRemoved();
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
    end: (ended, freed) => lanes.change.write(writes.end, ended, () => freed?.()),
    keepFiles: (canceled) => lanes.change.write(writes.keepFiles, canceled),
    requeue: (requeued, freed) => lanes.change.write(writes.requeue, requeued, () => freed?.()),
    cancel: (taskIds, from, endedAtMs) =>
      lanes.change.write(
        writes.cancel,
        taskIds.map((taskId) => ({ taskId, from, endedAtMs })),
      ),
  };
}

async function claim(
  { lanes, claims, claimed: tell, writes }: QueueInLanesOptions,
  asked: readonly TermedClaim[],
) {
  const taskIds = asked.map(({ taskId }) => taskId);
  claims.begin(taskIds);
  try {
    const claimed = await lanes.claim.write(writes.claim, asked, (done) =>
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
