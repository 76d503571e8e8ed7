/** The task store on a PostgreSQL database. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import type { StoreMetrics } from '../../core/ports/metrics.js';
import type { TaskStore } from '../../core/ports/store.js';
import type { Database } from './connection/pool.js';
import { translatedReads } from './connection/translated-reads.js';
import { postgresAllocations } from './hosts/allocations.js';
import type { LaneName } from './lanes/lane-names.js';
import { beginStopOf, closeLanes, openLanes } from './lanes/lanes.js';
import { TaskLists } from './lists/task-lists.js';
import { postgresAgentRollouts } from './objects/agent-rollouts.js';
import { postgresAgentStore } from './objects/agent-store.js';
import { postgresBlobCatalogue } from './objects/blob-catalogue.js';
import { postgresInlineBlobs } from './objects/inline-blobs.js';
import { postgresNamedObjects } from './objects/named-objects.js';
import { postgresResumableUploads } from './objects/resumable-uploads.js';
import { postgresInvalidations } from './studies/invalidations.js';
import { postgresStudies } from './studies/studies.js';
import { ChangeLog } from './tasks/change-log.js';
import { postgresOpenLoans } from './tasks/open-loans.js';
import { postgresTaskArchive } from './tasks/task-archive.js';
import { TaskCounts } from './tasks/task-counts.js';
import { postgresTaskExclusions } from './tasks/task-exclusions.js';
import { postgresTaskQueue } from './tasks/task-queue.js';
import { postgresTaskStatistics } from './tasks/task-statistics.js';
import { logClaimsOfEndedHubs } from './tasks/unlogged-claims.js';
import { countsOf, postgresWebhookDeliveries } from './tasks/webhook-deliveries.js';
import { WebhookOutbox } from './tasks/webhook-outbox.js';

export interface PostgresTaskStoreOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Logger;
  readonly metrics?: StoreMetrics;
  /** Name of the hub, which keeps its lanes. */
  readonly hub: string;
  /** Name of this start of the hub, which no other has. */
  readonly incarnation: string;
  /** Whether other hubs use the database now; none when left out. */
  readonly isShared?: () => boolean;
  /** Batches after which the numbers of tasks are added up. */
  readonly foldEvery?: number;
  /** Number of changes of a lane after which older ones are removed, and of durable batches after which that is done. */
  readonly keptChanges?: number;
  readonly removeEvery?: number;
  /** A durable batch of a lane took place, whose calls are not told yet. */
  readonly onDurable?: (lane: LaneName, batch: number) => void;
  /** The store can no longer write, since another hub uses the database or it has lost confirmed changes: the hub must end. */
  readonly onBroken: (why: Error) => void;
}

export interface PostgresTaskStore extends TaskStore {
  /** Logs the claims that ended hubs did not log; the next scheduler calls it. */
  logClaimsOfEndedHubs(): Promise<void>;
  /** The hub begins to stop: no write waits long for a database that is away. */
  beginStop(): void;
  /** Writes what waits. The database stays open. */
  close(): Promise<void>;
}

/** Opens the store on a migrated database, and takes it from whoever has it open. Rejects with `DatabaseFault`. */
export async function openPostgresStore(
  db: Database,
  options: PostgresTaskStoreOptions,
): Promise<PostgresTaskStore> {
  const counts = new TaskCounts(() => lanes, options.foldEvery);
  const opened = await openLanes(db, {
    ...options,
    onWritten: (isDurable) => {
      counts.written();
      if (isDurable) changes.written();
    },
  });
  const { lanes, claims } = opened;
  const reads = translatedReads(db);
  const changes: ChangeLog = new ChangeLog({
    db: reads,
    lanes,
    claims,
    timers: options.timers,
    ...(options.keptChanges === undefined ? {} : { keptChanges: options.keptChanges }),
    ...(options.removeEvery === undefined ? {} : { removeEvery: options.removeEvery }),
    ...(options.isShared ? { isShared: options.isShared } : {}),
  });
  if (opened.hasUnloggedClaims) await changes.logRunning([]);
  const outbox = new WebhookOutbox(await countsOf(db));
  return {
    queue: postgresTaskQueue({ db, reads, lanes, claims, outbox, claimed: () => changes.claimed() }),
    archive: postgresTaskArchive(reads, lanes, new TaskLists(reads)),
    changes,
    exclusions: postgresTaskExclusions(reads, lanes),
    loans: postgresOpenLoans(reads, lanes),
    allocations: postgresAllocations(reads, lanes),
    rollouts: postgresAgentRollouts(reads, lanes),
    studies: postgresStudies(reads, lanes, outbox),
    invalidations: postgresInvalidations(reads, lanes),
    statistics: postgresTaskStatistics(reads, lanes),
    webhooks: postgresWebhookDeliveries(reads, lanes, outbox),
    agents: postgresAgentStore(reads, lanes),
    inlineBlobs: postgresInlineBlobs(reads, lanes),
    blobCatalogue: postgresBlobCatalogue(reads, lanes),
    namedObjects: postgresNamedObjects(reads, lanes),
    uploads: postgresResumableUploads(reads, lanes),
    logClaimsOfEndedHubs: () => logClaimsOfEndedHubs(reads, options.hub, changes),
    beginStop: () => beginStopOf(lanes),
    close: async () => {
      await lanes.claim.close();
      await changes.close();
      await closeLanes(lanes);
    },
  };
}
