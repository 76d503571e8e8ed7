/** The writes of the queue on the model, with the keys and the durability of the real ones. */
import type { WaitingTask } from '@workbench-hub/hub/core/match-tasks';
import type { AdoptedAttempt, HeldAttempt, SchedulerFence } from '@workbench-hub/hub/core/ports/task-queue';
import type { LaneWrite } from '@workbench-hub/hub/store/postgres/lanes/lane-statements';
import {
  CLAIM_WRITE,
  type Claimed,
  type TermedClaim,
} from '@workbench-hub/hub/store/postgres/tasks/attempt-claims';
import {
  ADOPT_WRITE,
  attemptWrites,
  KEEP_FILES_WRITE,
  REQUEUE_WRITE,
} from '@workbench-hub/hub/store/postgres/tasks/attempt-writes';
import { FORGET_KEYS } from '@workbench-hub/hub/store/postgres/tasks/keyed-insertion';
import { REMOVE_REQUIREMENTS } from '@workbench-hub/hub/store/postgres/tasks/requirement-removal';
import {
  type Inserted,
  type Insertion,
  taskInsertion,
} from '@workbench-hub/hub/store/postgres/tasks/task-insertion';
import type { QueueWrites } from '@workbench-hub/hub/store/postgres/tasks/task-queue';
import { WebhookOutbox } from '@workbench-hub/hub/store/postgres/tasks/webhook-outbox';
import type { ModelStore } from '@workbench-hub/hub/store/sqlite/fixtures/model-store';
import type { ClusterTables } from './cluster-tables.js';
import { type Box, modelWrite, readModel, type Surroundings } from './model-statements.js';

const REAL = attemptWrites(new WebhookOutbox([]));
const REAL_INSERTION = taskInsertion({
  of: () => Promise.resolve(new Map()),
  forget: () => undefined,
});

export function queueWrites(): QueueWrites {
  return {
    insert: modelWrite(REAL_INSERTION, insert),
    forgetKeys: modelWrite(FORGET_KEYS, ({ ports }, requestedBeforeMs) =>
      ports.queue.forgetKeys(requestedBeforeMs),
    ),
    removeRequirements: modelWrite(REMOVE_REQUIREMENTS, async ({ ports }, { afterId, limit }) => ({
      removed: 0,
      nextAfterId: await ports.queue.removeUnusedGroups({ afterGroupId: afterId, limit }),
    })),
    claim: claimWrite(),
    adopt: modelWrite(ADOPT_WRITE, ({ ports }, held, { tables }) => adopt(ports, held, tables)),
    end: modelWrite(REAL.end, ({ ports }, ended, around) =>
      fenced(ended, around, (inForce) => ports.queue.end(inForce)),
    ),
    keepFiles: modelWrite(KEEP_FILES_WRITE, ({ ports }, canceled) => ports.queue.keepFiles(canceled)),
    requeue: modelWrite(REQUEUE_WRITE, ({ ports }, requeued, around) =>
      fenced(requeued, around, (inForce) => ports.queue.requeue(inForce)),
    ),
    cancel: modelWrite(REAL.cancel, async ({ ports }, items) => {
      const done: boolean[] = [];
      for (const { taskId, from, endedAtMs } of items) {
        done.push(...(await ports.queue.cancel([taskId], from, endedAtMs)));
      }
      return done;
    }),
  };
}

/** Adopts what agents have not shown in a former join; null for all else. */
async function adopt(
  { queue }: ModelStore['ports'],
  held: readonly HeldAttempt[],
  { agents }: ClusterTables,
): Promise<(AdoptedAttempt | null)[]> {
  const isOfLatest = ({ instance, epoch }: HeldAttempt) =>
    epoch === undefined || (agents.get(instance.agentId)?.epoch ?? 0) <= epoch;
  const adopted = await queue.adopt(held.filter(isOfLatest));
  return held.map((each) => (isOfLatest(each) ? (adopted.shift() ?? null) : null));
}

/** Performs what the scheduler may still do; false for all else. */
async function fenced<Item extends { readonly fence?: SchedulerFence | undefined }>(
  items: readonly Item[],
  { tables, ignoresFences, tookUnfenced }: Surroundings,
  perform: (items: readonly Item[]) => Promise<boolean[]>,
): Promise<boolean[]> {
  const isInForce = ({ fence }: Item) => {
    if (!fence) return true;
    const holder = tables.agents.get(fence.awayAgentId ?? '')?.hubId ?? null;
    return fence.term === tables.role.term && holder === null;
  };
  const isPerformed = (item: Item) => ignoresFences || isInForce(item);
  const performed = await perform(items.filter(isPerformed));
  const done = items.map((item) => isPerformed(item) && performed.shift() === true);
  for (const [at, item] of items.entries())
    if (done[at] && item.fence && !isInForce(item)) tookUnfenced(item.fence);
  return done;
}

async function insert({ ports }: ModelStore, { tasks, key }: Insertion): Promise<Inserted> {
  const waiting: WaitingTask[] = [];
  const waits = (those: readonly WaitingTask[]) => void waiting.push(...those);
  const [first] = tasks;
  if (key === undefined || !first) {
    await ports.queue.insert(tasks, waits);
    return { waiting, taskIds: tasks.map(({ id }) => id) };
  }
  const { taskId } = await ports.queue.insertOnce(first, key, waits);
  return { waiting, taskIds: [taskId] };
}

/** Claims whose response was lost are read again, as the real ones are. */
function claimWrite(): LaneWrite<Parameters<(typeof CLAIM_WRITE)['keys']>[0], readonly Claimed[]> {
  const claim = modelWrite(CLAIM_WRITE, async (model, claims, around): Promise<readonly Claimed[]> => {
    const { term: current } = around.tables.role;
    const isOfTerm = ({ term }: TermedClaim) => term === null || term === current || around.ignoresTerms;
    const claimed = await model.ports.queue.claim(claims.filter(isOfTerm));
    const taken = new Set(claimed.map(({ ref }) => ref.taskId));
    for (const { taskId, term } of claims) if (taken.has(taskId)) around.claimed(term);
    const seqs = new Map(model.tasks().map(({ id, seq }) => [id, seq]));
    return claimed.map((each) => ({ ...each, seq: seqs.get(each.ref.taskId) ?? 0 }));
  });
  return {
    ...claim,
    recall: async (_, outcome, db) => {
      const results = (outcome as Box<(readonly Claimed[])[]>)();
      const running = await readModel(
        db,
        async (_ports, model) =>
          new Set(
            model.tasks().flatMap((task) => (task.status === 'RUNNING' ? `${task.id}/${task.attempt}` : [])),
          ),
      );
      return results.map((claimed) =>
        claimed.filter(({ ref: { taskId, attempt } }) => running.has(`${taskId}/${attempt}`)),
      );
    },
  };
}
