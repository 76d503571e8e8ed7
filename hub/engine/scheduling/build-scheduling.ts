/** The scheduler, and the preparation of a shutdown, which pauses it. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { Cluster } from '../../core/ports/store.js';
import type { TaskQueue } from '../../core/ports/task-queue.js';
import type { AgentExclusions } from '../agents/agent-exclusions.js';
import type { Instances } from '../instances/instances.js';
import type { TaskTransitions } from '../transitions/task-transitions.js';
import type { HostEnds } from './host-ends.js';
import { Scheduler } from './scheduler.js';
import { ShutdownPreparation } from './shutdown-preparation.js';

export interface SchedulingPorts {
  readonly queue: TaskQueue;
  readonly cluster: Pick<Cluster, 'preparations' | 'hubs' | 'signals'>;
  /** Number of first tasks of a queue pool that are read at a time. */
  readonly headsPerPool?: number;
  readonly runtime: Runtime;
  readonly log: Logger;
}

/** The subjects that were built before. */
interface Before {
  readonly instances: Instances;
  readonly transitions: TaskTransitions;
  readonly exclusions: AgentExclusions;
  readonly hostEnds: HostEnds;
}

/** Rejects as the store does. */
export async function buildScheduling(ports: SchedulingPorts, before: Before) {
  const { queue, cluster, headsPerPool, runtime, log } = ports;
  const { preparations, hubs, signals } = cluster;
  const { instances, transitions, exclusions, hostEnds } = before;
  const shutdown = new ShutdownPreparation({ preparations, hubs, signals, clock: runtime.clock, log });
  await shutdown.refresh();
  const scheduler = new Scheduler({
    ...{ queue, transitions, signals, instances, exclusions, hostEnds, runtime, log, headsPerPool },
  });
  signals.hear(scheduler.onSignal);
  signals.hear(shutdown.onSignal);
  instances.onCapacity(() => scheduler.wake());
  exclusions.onExpired(() => scheduler.wake());
  hostEnds.onChange(() => scheduler.wake());
  shutdown.subscribe((isPaused) => (isPaused ? scheduler.pause() : scheduler.resume()));
  return { shutdown, scheduler };
}
