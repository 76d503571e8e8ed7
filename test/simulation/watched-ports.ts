/** Ports of the simulated hub that inform an observer of each call, and let a fault happen at the worst time. */
import type { EngineOptions } from '@workbench-hub/hub/engine/engine';
import type { SimulatedStore, TaskState } from '@workbench-hub/hub/store/sqlite/fixtures/simulated-store';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { Process } from './process.js';
import { LEASE_MS } from './settings.js';

/** Steps at which a failure of the disk may do more harm than at other times. */
export const CRITICAL_STEPS = ['a lease ends', 'tasks are dispatched', 'tasks are removed'] as const;
export type CriticalStep = (typeof CRITICAL_STEPS)[number];

/** Observer of the hub, on which the invariants are checked. */
export interface HubObserver {
  /** The hub starts on this store; after a power failure it holds what the disk has. */
  onStart(store: SimulatedStore, lostPower: boolean): void;
  /** Tasks that ended before this time of the hub's clock may be gone from now on. */
  onSwept(endedBeforeMs: number): void;
  /** The scheduler knows these waiting tasks. */
  onQueueKnown(waiting: readonly TaskState[]): void;
  onClaim(claims: readonly { taskId: string; instanceId: string }[]): void;
  onJoin(agentId: string): void;
  onLeave(agentId: string): void;
  /** An agent returns a task because of a host fault. */
  onReturned(taskId: string, agentId: string): void;
}

export interface Watch {
  readonly process: Process;
  readonly store: SimulatedStore;
  readonly observer: HubObserver;
  /** Called just before a critical step. */
  readonly onStep: (step: CriticalStep) => void;
}

type WatchedPorts = Pick<EngineOptions, 'queue' | 'archive'>;

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
