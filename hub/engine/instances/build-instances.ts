/** Live views of agents and instances, which begin with those that the store knows. */
import type { InstanceProfile } from '@workbench-hub/shared/domain/instance';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { Presence } from '../../core/ports/presence.js';
import type { Signals } from '../../core/ports/signals.js';
import type { TaskArchive } from '../../core/ports/task-archive.js';
import type { TaskQueue } from '../../core/ports/task-queue.js';
import { DoubtedAttempts } from './doubted-attempts.js';
import { Instances } from './instances.js';
import { ViewRefresh } from './view-refresh.js';

export interface InstancePorts {
  readonly queue: TaskQueue;
  readonly archive: TaskArchive;
  readonly cluster: { readonly presence: Presence; readonly signals: Signals };
  readonly runtime: Runtime;
  readonly log: Logger;
}

/** Whether an instance is kept for the tasks of other hubs. */
export type IsForOthers = (profile: InstanceProfile) => boolean;

/** Rejects as the store does. */
export async function buildInstances(
  { queue, archive, cluster, runtime, log }: InstancePorts,
  isForOthers: IsForOthers,
) {
  const { presence, signals } = cluster;
  const { clock, timers } = runtime;
  const instances = new Instances({ clock, timers, log, isForOthers });
  instances.remember(await presence.all());
  const views = new ViewRefresh({ presence, queue, instances, clock });
  const doubted = new DoubtedAttempts({ archive, instances, signals, log });
  for (const listener of [doubted.beforeViews, views.onSignal, instances.onSignal, doubted.onSignal])
    signals.hear(listener);
  return { instances, views, doubted };
}
