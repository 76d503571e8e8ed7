/** Functions of every store, and records for tests. A suite gets a function that opens an empty store. */
import { newTaskWith } from '@workbench-hub/hub/core/fixtures/task';
import type { AgentRollouts } from '@workbench-hub/hub/core/ports/agent-rollouts';
import type { AgentStore } from '@workbench-hub/hub/core/ports/agent-store';
import type { Allocations } from '@workbench-hub/hub/core/ports/allocations';
import type { BlobCatalogue } from '@workbench-hub/hub/core/ports/blob-catalogue';
import type { InlineBlobs } from '@workbench-hub/hub/core/ports/blobs';
import type { Invalidations } from '@workbench-hub/hub/core/ports/invalidations';
import type { NamedObjects } from '@workbench-hub/hub/core/ports/named-objects';
import type { OpenLoans } from '@workbench-hub/hub/core/ports/open-loans';
import type { ResumableUploads } from '@workbench-hub/hub/core/ports/resumable-uploads';
import type { Studies } from '@workbench-hub/hub/core/ports/studies';
import type { TaskArchive } from '@workbench-hub/hub/core/ports/task-archive';
import type { TaskChanges } from '@workbench-hub/hub/core/ports/task-changes';
import type { TaskExclusions } from '@workbench-hub/hub/core/ports/task-exclusions';
import type { TaskQueue } from '@workbench-hub/hub/core/ports/task-queue';
import type { TaskStatistics } from '@workbench-hub/hub/core/ports/task-statistics';
import type { WebhookDeliveries } from '@workbench-hub/hub/core/ports/webhook-deliveries';
import type { NewTask } from '@workbench-hub/hub/core/task';
import { requirementKey } from '@workbench-hub/shared/domain/classifier';
import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';

export interface StoreUnderTest {
  readonly queue: TaskQueue;
  readonly archive: TaskArchive;
  readonly changes: TaskChanges;
  readonly statistics: TaskStatistics;
  readonly exclusions: TaskExclusions;
  readonly loans: OpenLoans;
  readonly allocations: Allocations;
  readonly rollouts: AgentRollouts;
  readonly studies: Studies;
  readonly invalidations: Invalidations;
  readonly webhooks: WebhookDeliveries;
  readonly agents: AgentStore;
  readonly inlineBlobs: InlineBlobs;
  readonly blobCatalogue: BlobCatalogue;
  readonly namedObjects: NamedObjects;
  readonly uploads: ResumableUploads;
  /** Closes the store and reopens it on the same data. This one is unusable afterwards. */
  reopen(): Promise<StoreUnderTest>;
  /** Closes the store and removes its data. */
  close(): Promise<void>;
}

export type OpenStore = () => Promise<StoreUnderTest>;

/** Text in the form of a digest, the same for the same text. */
export function digestOf(text: string): string {
  return Buffer.from(text).toString('hex').padEnd(64, '0').slice(0, 64);
}

export function fileOf(text: string): { digest: string; sizeBytes: number } {
  return { digest: digestOf(text), sizeBytes: text.length };
}

export const ANYTHING = requirementKey({ version: null, labels: [] });

/** A new task with an id of its own. */
export function newTask(rest: Partial<NewTask> = {}): NewTask {
  return newTaskWith({ id: systemRuntime.newId(), requestedAtMs: 1_795_000_000_000, ...rest });
}

export const INSTANCE = { id: 'sim-1', version: '9.1.0', revision: '4711', agentId: 'agent-1' };

/** Puts a task into the queue and claims it for an instance; gives the attempt. */
export async function startTask(
  { queue }: StoreUnderTest,
  task = newTask(),
  instance = INSTANCE,
): Promise<AttemptRef> {
  await queue.insert([task]);
  return claim({ queue }, task.id, instance);
}

/** Claims a waiting task; gives the attempt. */
export async function claim(
  { queue }: Pick<StoreUnderTest, 'queue'>,
  taskId: string,
  instance = INSTANCE,
): Promise<AttemptRef> {
  const [claimed] = await queue.claim([{ taskId, instance, startedAtMs: 1_795_000_001_000 }]);
  if (!claimed) throw new Error(`task ${taskId} could not be claimed`);
  return claimed.ref;
}

/** Possible ends of a task. */
export const WELL = {
  status: 'FINISHED',
  batchExecutionStatus: 'OK',
  message: null,
  files: { outputFiles: [], log: null },
} as const;
