/** Wrappers around real ports, from which defects are made. */
import type { ProgramEnd, Programs } from '@workbench-hub/agent/core/ports/programs';
import type { BlobStore } from '@workbench-hub/hub/core/ports/blobs';
import { outputName } from '@workbench-hub/hub/core/storage';
import type { BlobDisk } from '@workbench-hub/hub/files/blob-disk';
import type { BlobStoreOptions } from '@workbench-hub/hub/files/blob-store';
import type { ObservedStore } from '@workbench-hub/hub/store/sqlite/fixtures/database-in-memory';
import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { DRAIN_TIMEOUTS_MS, LEASE_MS } from '../settings.js';
import type { Breakage, HubPorts } from './breakage.js';

export const ACTIVE_ATTEMPT = 'id = ? AND attempt = ? AND instance_id = ?';

export function fence({ taskId, attempt, instanceId }: AttemptRef): unknown[] {
  return [taskId, attempt, instanceId];
}

/** A runtime whose timers of these delays take another time. */
function retimed(runtime: Runtime, timesMs: readonly number[], otherMs: number): Runtime {
  const { timers } = runtime;
  return {
    ...runtime,
    timers: {
      ...timers,
      after: (delayMs, action) => timers.after(timesMs.includes(delayMs) ? otherMs : delayMs, action),
    },
  };
}

/** A lease of another length. */
export function leaseOf(leaseMs: number): NonNullable<Breakage['hub']> {
  return ({ runtime }) => ({ runtime: retimed(runtime, [LEASE_MS], leaseMs) });
}

/** A drain timeout of another length. */
export function drainOf(drainMs: number): NonNullable<Breakage['agent']> {
  const timeoutsMs = DRAIN_TIMEOUTS_MS.filter((timeoutMs) => timeoutMs > 0);
  return ({ runtime }) => ({ runtime: retimed(runtime, timeoutsMs, drainMs) });
}

/** Delay after which the end of a lease is tried again (`hub/engine/agents/leases.ts`). */
const LEASE_RETRY_MS = 5000;

/** A store failure at the end of a lease is the last try to requeue its tasks. */
export const leaseWithoutRetry: NonNullable<Breakage['hub']> = ({ queue, runtime }) => {
  let isRetry = false;
  return {
    runtime: {
      ...runtime,
      timers: {
        ...runtime.timers,
        after: (delayMs, action) =>
          runtime.timers.after(delayMs, () => {
            isRetry = delayMs === LEASE_RETRY_MS;
            action();
            isRetry = false;
          }),
      },
    },
    queue: {
      ...queue,
      runningOn: async (agentId) => (isRetry ? [] : queue.runningOn(agentId)),
    },
  };
};

/** A store failure during a scheduler round is not followed by another round. */
export const roundsWithoutRetry: NonNullable<Breakage['hub']> = ({ queue, runtime }) => {
  let hasFailed = false;
  return {
    runtime: {
      ...runtime,
      timers: {
        ...runtime.timers,
        after: (delayMs, action) => {
          if (!hasFailed) return runtime.timers.after(delayMs, action);
          hasFailed = false;
          return { cancel: () => undefined };
        },
      },
    },
    queue: {
      ...queue,
      claim: (claims) =>
        queue.claim(claims).catch((error: unknown) => {
          hasFailed = true;
          throw error;
        }),
    },
  };
};

export function namesBeforeItCounts(): Breakage {
  let names: HubPorts['names'] | undefined;
  return {
    name: 'files of an attempt that does not count are named in the output storage',
    seed: 70,
    hub: (ports) => {
      names = ports.names;
      return {};
    },
    agents: (agents) => ({
      ...agents,
      reported: async (agentId, connection, report) => {
        const { taskId, storedFiles = [] } = report;
        for (const { path, ...file } of storedFiles) {
          const name = outputName(taskId, path);
          await names?.put(
            {
              ...file,
              area: 'OUTPUT',
              name,
              owner: null,
              storedAtMs: 0,
              expiresAtMs: Number.MAX_SAFE_INTEGER,
            },
            { overwrite: true, quotaBytes: null, maxFiles: 10 },
          );
        }
        return agents.reported(agentId, connection, report);
      },
    }),
  };
}

export function onDisk(options: BlobStoreOptions, change: (disk: BlobDisk) => BlobDisk): BlobStoreOptions {
  return { ...options, disk: change(options.disk as BlobDisk) };
}

export function withoutHolds(files: BlobStore): BlobStore {
  const hold = () => ({ add: () => undefined, release: () => undefined, abandon: () => undefined });
  return broken(files, { hold });
}

/** The blob store with some of its methods replaced. */
export function broken(files: BlobStore, methods: Partial<BlobStore>): BlobStore {
  return Object.assign(files, methods);
}

/** The archive, showing every dispatched task as running. */
export function withoutStatus(store: ObservedStore): HubPorts['archive'] {
  return {
    ...store.archive,
    find: async (taskId) => {
      const task = await store.archive.find(taskId);
      return task && task.attempt > 0 ? { ...task, status: 'RUNNING' } : task;
    },
  };
}

/** Programs whose end does not tell whether others worked in the same process. */
export function blamingPrograms(programs: Programs): Programs {
  const alone = (end: ProgramEnd): ProgramEnd => {
    if (end.kind !== 'EXITED') return end;
    const { kind, exitCode, signal } = end;
    return { kind, exitCode, signal };
  };
  return {
    start: (settings, listener) => {
      const program = programs.start(settings, listener);
      return Object.assign(program, { ended: program.ended.then(alone) });
    },
    sweep: () => programs.sweep(),
  };
}

/** A hub that acknowledges tasks before they are durable. */
export const acknowledgedEarly: NonNullable<Breakage['hub']> = ({ queue }) => ({
  queue: {
    ...queue,
    insert: (tasks, waits) => {
      queue.insert(tasks, waits).catch(() => undefined);
      return Promise.resolve();
    },
  },
});
