/** Explanations of tasks that wait. */
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { Signals } from '../../core/ports/signals.js';
import type { TaskQueue } from '../../core/ports/task-queue.js';
import type { Scheduler } from '../scheduling/scheduler.js';
import { Explanations, type ExplanationsOptions } from './explanations.js';

export interface WaitingPorts {
  readonly queue: TaskQueue;
  readonly cluster: { readonly signals: Pick<Signals, 'hear'> };
  readonly defaultVersion: string | null;
  readonly runtime: Runtime;
}

/** The subjects that were built before. */
interface Before
  extends Pick<
    ExplanationsOptions,
    'instances' | 'shutdown' | 'exclusions' | 'caughtUp' | 'runTimes' | 'hostOutlook'
  > {
  readonly scheduler: Scheduler;
}

export function buildWaiting({ queue, cluster, defaultVersion, runtime }: WaitingPorts, before: Before) {
  const { instances, shutdown, exclusions, caughtUp, runTimes, hostOutlook, scheduler } = before;
  const { clock, timers } = runtime;
  const explanations = new Explanations({
    ...{
      queue,
      instances,
      shutdown,
      clock,
      timers,
      defaultVersion,
      exclusions,
      caughtUp,
      runTimes,
      hostOutlook,
    },
    waitingGroupsFor: (classes) => scheduler.groupsFor(classes),
  });
  cluster.signals.hear(explanations.onSignal);
  cluster.signals.hear(explanations.onRunningSignal);
  return { explanations };
}
