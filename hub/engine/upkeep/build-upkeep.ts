/** Upkeep: statistics, the removal of what is no longer kept, and the return to the rows of the store after lost signals. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { BlobStore } from '../../core/ports/blobs.js';
import type { NamedObjects } from '../../core/ports/named-objects.js';
import type { Cluster } from '../../core/ports/store.js';
import type { Studies } from '../../core/ports/studies.js';
import type { TaskArchive } from '../../core/ports/task-archive.js';
import type { TaskQueue } from '../../core/ports/task-queue.js';
import { NO_STATISTICS, type TaskStatistics } from '../../core/ports/task-statistics.js';
import type { AgentExclusions } from '../agents/agent-exclusions.js';
import type { AgentSpread } from '../agents/agent-spread.js';
import type { HeldAttempts } from '../agents/held-attempts.js';
import type { Leases } from '../agents/leases.js';
import { type ResultWaiters, wakeForEnded } from '../following/result-waiters.js';
import type { TaskOutput } from '../following/task-output.js';
import type { Instances } from '../instances/instances.js';
import type { ViewRefresh } from '../instances/view-refresh.js';
import type { ResumableUploadService } from '../storage/resumable-upload-service.js';
import type { TaskTransitions } from '../transitions/task-transitions.js';
import type { Explanations } from '../waiting/explanations.js';
import type { Webhooks } from '../webhooks/webhooks.js';
import type { ClockWatch } from './clock-watch.js';
import { LocalSweeper } from './local-sweeper.js';
import { Resynchronization } from './resynchronization.js';
import { Statistics } from './statistics.js';
import { Sweeper } from './sweeper.js';

export interface UpkeepPorts {
  readonly queue: TaskQueue;
  readonly archive: TaskArchive;
  readonly files: BlobStore;
  readonly names: NamedObjects;
  readonly studies: Studies;
  readonly cluster: Pick<Cluster, 'presence' | 'signals'>;
  /** None are kept when left out. */
  readonly statistics?: TaskStatistics;
  readonly keepEndedForMs: number;
  readonly forgetAgentsAfterMs: number;
  /** Removes expired sessions and tokens. */
  readonly sweepAccounts?: () => Promise<void>;
  readonly runtime: Runtime;
  readonly log: Logger;
}

/** The subjects that were built before. */
interface Before {
  readonly clockWatch: ClockWatch;
  readonly transitions: TaskTransitions;
  readonly instances: Instances;
  readonly views: ViewRefresh;
  readonly exclusions: AgentExclusions;
  readonly leases: Leases;
  readonly held: HeldAttempts;
  readonly spread: AgentSpread;
  readonly resultWaiters: ResultWaiters;
  readonly output: TaskOutput;
  readonly explanations: Explanations;
  readonly webhooks: Webhooks | null;
  readonly uploads: ResumableUploadService;
}

export function buildUpkeep(ports: UpkeepPorts, before: Before) {
  const { queue, archive, files, names, cluster, keepEndedForMs, forgetAgentsAfterMs, runtime, log } = ports;
  const { clockWatch, transitions, instances, webhooks, uploads } = before;
  const { presence, signals } = cluster;
  const { clock, timers } = runtime;
  const statistics = new Statistics({ store: ports.statistics ?? NO_STATISTICS, clock, timers, log });
  if (ports.statistics) transitions.subscribe(statistics.onTask);
  const sweeper = new Sweeper({
    studies: ports.studies,
    ...{ queue, archive, transitions, files, names, presence, instances, clockWatch, webhooks },
    ...{ keepEndedForMs, forgetAgentsAfterMs, runtime, log },
    sweepAccounts: ports.sweepAccounts ?? (async () => undefined),
  });
  const localSweeper = new LocalSweeper({ uploads, files, clockWatch, timers, log });
  const resync = resynchronization(ports, before);
  signals.hear(resync.onSignal);
  return { statistics, sweeper, localSweeper, resync };
}

/** Reads everything again that is known from signals, in the order in which it is needed. */
function resynchronization({ archive, runtime, log }: UpkeepPorts, before: Before): Resynchronization {
  const { views, exclusions, leases, held, spread, output, explanations, resultWaiters, webhooks } = before;
  return new Resynchronization({
    refresh: async () => {
      await exclusions.load();
      output.beginComparison();
      return views.refresh();
    },
    steps: [
      (running) => leases.follow(running),
      (running) => {
        output.compare(running);
        explanations.compare(running);
        return held.compare(running);
      },
      () => wakeForEnded(resultWaiters, archive),
      () => webhooks?.refresh(),
      () => spread.level(),
    ],
    timers: runtime.timers,
    log,
  });
}
