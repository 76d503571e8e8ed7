/** Ports of the simulated hub that inform an observer of each call, and let a fault happen at the worst time. */
import type { EngineOptions } from '@workbench-hub/hub/engine/engine';
import type { ObservedStore, TaskState } from '@workbench-hub/hub/store/sqlite/fixtures/database-in-memory';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { Process } from './process.js';
import { LEASE_MS } from './settings.js';

/** Steps at which a failure of the disk may do more harm than at other times. */
export const CRITICAL_STEPS = ['a lease ends', 'tasks are dispatched', 'tasks are removed'] as const;
export type CriticalStep = (typeof CRITICAL_STEPS)[number];

/** Observer of the hub, on which the invariants are checked. */
export interface HubObserver {
  /** The hub starts on this store; after a power failure it holds what the disk has. */
  onStart(store: ObservedStore, lostPower: boolean): void;
  /** The database server has lost what was not on its disk; these tasks are left. */
  onUnsyncedLost(tasks: readonly TaskState[]): void;
  /** The database server has lost what it had acknowledged; these tasks are left. */
  onDurableLost(tasks: readonly TaskState[]): void;
  /** Tasks that ended before this time of the hub's clock may be gone from now on. */
  onSwept(endedBeforeMs: number): void;
  /** The scheduler knows these waiting tasks. */
  onQueueKnown(waiting: readonly TaskState[]): void;
  onClaim(claims: readonly { taskId: string; instanceId: string }[]): void;
  /** A task waits no longer, as the hub hears. */
  onWithdrawn(taskId: string): void;
  /** The hub has gained the role of the scheduler. */
  onGained(): void;
  /** It schedules from now on, unless it has lost the role meanwhile. */
  onScheduling(process: Process): void;
  onLost(): void;
  /** The hub has ended, or was halted. */
  onGone(): void;
  onJoin(agentId: string): void;
  onLeave(agentId: string): void;
  /** An agent returns a task because of a host fault. */
  onReturned(taskId: string, agentId: string): void;
}

/** Observer that does nothing. */
export const SILENT_OBSERVER: HubObserver = {
  onStart: () => undefined,
  onUnsyncedLost: () => undefined,
  onDurableLost: () => undefined,
  onSwept: () => undefined,
  onQueueKnown: () => undefined,
  onClaim: () => undefined,
  onWithdrawn: () => undefined,
  onGained: () => undefined,
  onScheduling: () => undefined,
  onLost: () => undefined,
  onGone: () => undefined,
  onJoin: () => undefined,
  onLeave: () => undefined,
  onReturned: () => undefined,
};

export interface Watch {
  readonly process: Process;
  readonly store: ObservedStore;
  readonly observer: HubObserver;
  /** Called just before a critical step. */
  readonly onStep: (step: CriticalStep) => void;
}

type WatchedPorts = Pick<EngineOptions, 'queue' | 'archive'>;

/** Tells which tasks the hub knows to wait, where the responses of the store tell it; a sync tells it otherwise. */
export function watchedResponses(
  queue: EngineOptions['queue'],
  { process, store, observer }: Omit<Watch, 'onStep'>,
): EngineOptions['queue'] {
  const know = (taskIds: readonly string[]) => {
    const known = store.tasks().filter(({ id, status }) => status === 'WAITING' && taskIds.includes(id));
    process.after(0, () => observer.onQueueKnown(known));
  };
  return {
    ...queue,
    insert: (tasks, waits) =>
      queue.insert(tasks, (waiting) => {
        know(waiting.map(({ taskId }) => taskId));
        waits?.(waiting);
      }),
    requeue: async (released, freed) => {
      const done = await queue.requeue(released, freed);
      know(released.flatMap(({ ref }, at) => (done[at] ? [ref.taskId] : [])));
      return done;
    },
  };
}

export function watchedPorts(
  { queue, archive }: WatchedPorts,
  { process, store, observer, onStep }: Watch,
): WatchedPorts {
  return {
    queue: {
      ...queue,
      claim: (claims, term) => {
        onStep('tasks are dispatched');
        observer.onClaim(claims.map(({ taskId, instance }) => ({ taskId, instanceId: instance.id })));
        return queue.claim(claims, term);
      },
      adopt: async (held) => {
        const adopted = await queue.adopt(held);
        // It waits no longer, with the number that it had when it waited.
        for (const [at, { ref }] of held.entries()) if (adopted[at]) observer.onWithdrawn(ref.taskId);
        return adopted;
      },
      waitingGroups: async (page) => {
        const waiting = store.tasks().filter(({ status }) => status === 'WAITING');
        const groups = await queue.waitingGroups(page);
        process.after(0, () => observer.onQueueKnown(waiting));
        return groups;
      },
    },
    archive: {
      ...archive,
      endedBefore: (timeMs, limit) => {
        observer.onSwept(timeMs);
        return archive.endedBefore(timeMs, limit);
      },
      remove: (taskIds) => {
        onStep('tasks are removed');
        return archive.remove(taskIds);
      },
    },
  };
}

/** A runtime that tells when a lease ends. */
export function watchedLeases(runtime: Runtime, onStep: Watch['onStep']): Runtime {
  const after = (delayMs: number, action: () => void) =>
    runtime.timers.after(delayMs, () => {
      if (delayMs === LEASE_MS) onStep('a lease ends');
      action();
    });
  return { ...runtime, timers: { ...runtime.timers, after } };
}
