/** A simulated hub as one of those of a database: the real ports between hubs, over the simulated server. */
import { claimedTasks } from '@workbench-hub/hub/core/claimed-tasks';
import type { Roles } from '@workbench-hub/hub/core/ports/roles';
import type { Signals } from '@workbench-hub/hub/core/ports/signals';
import type { Cluster } from '@workbench-hub/hub/core/ports/store';
import type { TaskArchive } from '@workbench-hub/hub/core/ports/task-archive';
import { type OpenedCluster, openCluster } from '@workbench-hub/hub/store/postgres/cluster/open-cluster';
import { databaseClock } from '@workbench-hub/hub/store/postgres/connection/database-clock';
import type { Database } from '@workbench-hub/hub/store/postgres/connection/pool';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { openRemoteStore, type RemoteStore, type RemoteStoreOptions } from './database/remote-store.js';
import type { Watch } from './watched-ports.js';

export interface Membership {
  readonly store: RemoteStore;
  readonly cluster: OpenedCluster;
  /** Clock of all times that are stored. */
  readonly clock: Clock;
  /** Writes what waits, and ends the membership in order. */
  close(): Promise<void>;
}

/** Opens a store as the hub does. Rejects with `StartRefused` while another hub with the same id runs, and with `DatabaseFault`. */
export async function openMembership(db: Database, options: RemoteStoreOptions): Promise<Membership> {
  const { runtime, log, hub, onBroken } = options;
  const incarnation = runtime.newId();
  let archive: TaskArchive | undefined;
  const cluster = await openCluster(db, {
    hubId: hub,
    incarnation,
    version: '1',
    generation: 1,
    clock: runtime.clock,
    timers: runtime.timers,
    log,
    claimedTasks: async (taskIds) => (archive ? claimedTasks(archive, taskIds) : []),
    onBroken,
  });
  const clock = await databaseClock(db, { clock: runtime.clock, timers: runtime.timers, log });
  const store = await openRemoteStore(db, { ...options, incarnation });
  archive = store.archive;
  return {
    store,
    cluster,
    clock,
    close: async () => {
      await store.close();
      clock.close();
      await cluster.close();
    },
  };
}

/** The ports between hubs, which tell the observer who schedules, which agents are connected, and of which tasks the hub hears. */
export function watchedCluster(
  cluster: Cluster,
  { process, store, observer }: Omit<Watch, 'onStep'>,
): Cluster {
  const know = (taskIds: readonly string[]) => {
    const known = store.tasks().filter(({ id, status }) => status === 'WAITING' && taskIds.includes(id));
    process.after(0, () => observer.onQueueKnown(known));
  };
  cluster.signals.hear({
    WAITS: ({ tasks }) => know(tasks.map(({ taskId }) => taskId)),
    RETURNED: ({ taskId }) => know([taskId]),
    WITHDRAWN: ({ taskId }) => observer.onWithdrawn(taskId),
  });
  const tell: Signals['tell'] = (signal) => {
    if (signal.kind === 'JOINED') observer.onJoin(signal.agent.id);
    if (signal.kind === 'LEFT') observer.onLeave(signal.agentId);
    cluster.signals.tell(signal);
  };
  const contend: Roles['contend'] = (holder) =>
    cluster.roles.contend({
      gained: async (term) => {
        observer.onGained();
        await holder.gained(term);
        observer.onScheduling(process);
      },
      lost: () => {
        observer.onLost();
        return holder.lost();
      },
    });
  return {
    ...cluster,
    signals: {
      tell,
      hear: (listener) => cluster.signals.hear(listener),
      caughtUp: () => cluster.signals.caughtUp(),
    },
    roles: { contend, resign: () => cluster.roles.resign() },
  };
}
