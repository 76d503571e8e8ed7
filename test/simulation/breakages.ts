/** Defects, put into the simulated parts on purpose: each must be found, or the simulation proves nothing. */
import { Readable } from 'node:stream';
import type { EnginePorts } from '@workbench-hub/agent/engine/agent-engine';
import type { EngineForAgents } from '@workbench-hub/hub/agent-link/agent-session';
import type { BlobForm, FileStore } from '@workbench-hub/hub/core/ports/files';
import { outputName } from '@workbench-hub/hub/core/storage';
import type { Task } from '@workbench-hub/hub/core/task';
import type { EngineOptions } from '@workbench-hub/hub/engine/engine';
import type { BlobDisk } from '@workbench-hub/hub/files/blob-disk';
import type { BlobStoreOptions } from '@workbench-hub/hub/files/blob-store';
import type { SimulatedDisk, SimulatedStore } from '@workbench-hub/hub/store/sqlite/fixtures/simulated-store';
import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { BrokenWire } from './network.js';
import { DRAIN_TIMEOUTS_MS, KEPT_SHORTLY_MS, LEASE_MS } from './settings.js';

export type HubPorts = Pick<
  EngineOptions,
  'queue' | 'archive' | 'agentStore' | 'files' | 'names' | 'runtime'
>;

export interface Breakage {
  readonly name: string;
  /** Of the hub: what takes the place of these ports. */
  readonly hub?: (ports: HubPorts, store: SimulatedStore) => Partial<HubPorts>;
  /** Of the hub's disk. */
  readonly disk?: (disk: SimulatedDisk) => SimulatedDisk;
  /** Of its contents. */
  readonly contents?: (options: BlobStoreOptions) => BlobStoreOptions;
  /** Of what the hub does with connections of agents. */
  readonly agents?: (agents: EngineForAgents) => EngineForAgents;
  readonly wire?: BrokenWire;
  /** Of an agent. */
  readonly agent?: (ports: EnginePorts) => Partial<EnginePorts>;
}

const ACTIVE_ATTEMPT = 'id = ? AND attempt = ? AND instance_id = ?';

function fence({ taskId, attempt, instanceId }: AttemptRef): unknown[] {
  return [taskId, attempt, instanceId];
}

/** What was to take one of these times takes another one. */
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

/** The lease takes another time than it should. */
function leaseOf(leaseMs: number): NonNullable<Breakage['hub']> {
  return ({ runtime }) => ({ runtime: retimed(runtime, [LEASE_MS], leaseMs) });
}

/** The same of the time for which an agent that is stopped lets tasks go on. */
function drainOf(drainMs: number): NonNullable<Breakage['agent']> {
  const timeoutsMs = DRAIN_TIMEOUTS_MS.filter((timeoutMs) => timeoutMs > 0);
  return ({ runtime }) => ({ runtime: retimed(runtime, timeoutsMs, drainMs) });
}

/** A fault of the store that a lease meets at its end is the end of it: the task is tried no more. */
const leaseWithoutRetry: NonNullable<Breakage['hub']> = ({ queue, runtime }) => {
  let isLeaseEnd = false;
  const givenUp = new Set<string>();
  return {
    runtime: {
      ...runtime,
      timers: {
        ...runtime.timers,
        after: (delayMs, action) =>
          runtime.timers.after(delayMs, () => {
            isLeaseEnd = delayMs === LEASE_MS;
            action();
            isLeaseEnd = false;
          }),
      },
    },
    queue: {
      ...queue,
      runningOn: async (agentId) => {
        const mark = isLeaseEnd;
        const tasks = await queue.runningOn(agentId);
        if (mark) for (const { id } of tasks) givenUp.add(id);
        return tasks;
      },
      requeue: (released) =>
        queue.requeue(released).catch((error: unknown) => {
          if (released.every(({ ref }) => givenUp.has(ref.taskId))) return released.map(() => false);
          throw error;
        }),
    },
  };
};

/** A fault of the store that a round of the scheduler meets is not followed by another round. */
const roundsWithoutRetry: NonNullable<Breakage['hub']> = ({ queue, runtime }) => {
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

export const BREAKAGES: readonly Breakage[] = [
  {
    name: '201 before the task is durable',
    hub: ({ queue }) => ({
      queue: {
        ...queue,
        insert: (tasks, waits) => {
          queue.insert(tasks, waits).catch(() => undefined);
          return Promise.resolve();
        },
      },
    }),
  },
  {
    name: 'a report is settled before it is durable',
    hub: ({ queue }) => ({
      queue: {
        ...queue,
        end: (ended) => {
          queue.end(ended).catch(() => undefined);
          return Promise.resolve(ended.map(() => true));
        },
      },
    }),
  },
  {
    name: 'a large content has its name before it is synced',
    contents: (options) =>
      onDisk(options, (disk) => ({
        ...disk,
        open: async (path, flags) => ({ ...(await disk.open(path, flags)), sync: () => Promise.resolve() }),
      })),
  },
  {
    name: 'the name of a large content is not synced',
    contents: (options) => onDisk(options, (disk) => ({ ...disk, syncFolder: () => Promise.resolve() })),
  },
  {
    name: 'a content is removed before it is durable that nothing names it',
    hub: ({ names, files, runtime }) => {
      const soon = () => runtime.timers.after(1, () => void files.reclaim());
      return {
        names: {
          ...names,
          put: (stored, terms) => {
            soon();
            return names.put(stored, terms);
          },
          remove: (area, name) => {
            soon();
            return names.remove(area, name);
          },
        },
      };
    },
    contents: (options) => ({
      ...options,
      inline: {
        ...options.inline,
        removeUnreferenced: async (contents, isHeld) => {
          const held = contents.filter(isHeld);
          const unreferenced: BlobForm[] = [];
          for (const content of contents) {
            const named = await options.inline.referenced([content.digest], content.encrypted);
            if (named.size === 0 && !held.includes(content)) unreferenced.push(content);
          }
          // The small ones go with the next transaction, as they should.
          options.inline.removeUnreferenced(contents, isHeld).catch(() => undefined);
          return { held, unreferenced };
        },
      },
    }),
  },
  {
    name: 'a content is removed while a task is being created with it',
    hub: ({ files }) => ({ files: withoutHolds(files) }),
  },
  {
    name: 'what lost its last name stays',
    hub: ({ files }) => ({ files: broken(files, { reclaim: () => Promise.resolve() }) }),
  },
  { name: 'a sync to disk is left out', disk: (disk) => ({ ...disk, sync: () => Promise.resolve() }) },
  {
    name: 'what a killed hub wrote is shown before it is synced',
    disk: (disk) => {
      let isFirst = true;
      return {
        ...disk,
        sync: async () => {
          if (!isFirst) await disk.sync();
          isFirst = false;
        },
      };
    },
  },
  {
    name: 'a full disk is taken for success',
    hub: ({ queue }) => ({
      queue: { ...queue, insert: (tasks, waits) => queue.insert(tasks, waits).catch(() => undefined) },
    }),
  },
  {
    name: 'an end without its fence',
    hub: ({ queue }, store) => ({
      queue: {
        ...queue,
        end: async (ended) => {
          const counted = await queue.end(ended);
          for (const [index, { ref, ending, endedAtMs }] of ended.entries()) {
            if (counted[index]) continue;
            store.tamper(
              'UPDATE task SET status = ?, ended_at = ? WHERE id = ?',
              ending.status,
              endedAtMs,
              ref.taskId,
            );
          }
          return ended.map(() => true);
        },
      },
      archive: withoutStatus(store),
    }),
  },
  {
    name: 'a cancel without its fence',
    hub: ({ queue }, store) => ({
      queue: {
        ...queue,
        cancel: async (taskIds, from, endedAtMs) => {
          await queue.cancel(taskIds, from, endedAtMs);
          for (const id of taskIds) {
            store.tamper(`UPDATE task SET status = 'CANCELED', ended_at = ? WHERE id = ?`, endedAtMs, id);
          }
          return taskIds.map(() => true);
        },
      },
    }),
  },
  {
    name: 'a removal without its fence',
    hub: ({ archive }, store) => ({
      archive: {
        ...archive,
        remove: async (taskIds) => {
          await archive.remove(taskIds);
          for (const id of taskIds) {
            store.tamper(`DELETE FROM task WHERE id = ? AND status = 'WAITING'`, id);
          }
          return taskIds.map(() => true);
        },
      },
    }),
  },
  {
    name: 'a claim does not number its attempt anew',
    hub: ({ queue }, store) => ({
      queue: {
        ...queue,
        claim: async (claims) =>
          (await queue.claim(claims)).map((claimed) => {
            const { ref } = claimed;
            if (ref.attempt === 1) return claimed;
            store.tamper(`UPDATE task SET attempt = attempt - 1 WHERE ${ACTIVE_ATTEMPT}`, ...fence(ref));
            return { ...claimed, ref: { ...ref, attempt: ref.attempt - 1 } };
          }),
      },
    }),
  },
  {
    name: 'a release forgets the number of the attempt',
    hub: ({ queue }, store) => ({
      queue: {
        ...queue,
        requeue: async (released) => {
          const done = await queue.requeue(released);
          for (const { ref } of released) {
            store.tamper(`UPDATE task SET attempt = 0 WHERE id = ? AND status = 'WAITING'`, ref.taskId);
          }
          return done;
        },
      },
    }),
  },
  {
    name: 'an attempt is adopted though a newer one has begun',
    hub: ({ queue }, store) => ({
      queue: {
        ...queue,
        adopt: async (held) => {
          await queue.adopt(held);
          for (const { ref, instance } of held) {
            store.tamper(
              `UPDATE task SET status = 'RUNNING', attempt = ?, instance_id = ?, agent_id = ?
               WHERE id = ? AND status IN ('WAITING', 'RUNNING')`,
              ...[ref.attempt, ref.instanceId, instance.agentId, ref.taskId],
            );
          }
          return held.map(() => true);
        },
      },
    }),
  },
  {
    name: 'nothing that an agent holds is adopted',
    hub: ({ queue }) => ({
      queue: { ...queue, adopt: (held) => Promise.resolve(held.map(() => false)) },
    }),
  },
  { name: 'messages are lost, and the connection goes on', wire: { losesOneIn: 20 } },
  {
    name: 'a cancel is shown before it is durable',
    hub: ({ archive }, store) => {
      const seen = new Map<string, Task>();
      return {
        archive: {
          ...archive,
          find: async (taskId) => {
            const row = store.tasks().find(({ id }) => id === taskId);
            const before = seen.get(taskId);
            if (row?.status === 'CANCELED' && before) {
              return { ...before, status: 'CANCELED', endedAtMs: row.ended_at };
            }
            const task = await archive.find(taskId);
            if (task) seen.set(taskId, task);
            return task;
          },
        },
      };
    },
  },
  { name: 'a lease never ends', hub: leaseOf(1e12) },
  { name: 'unreachable is taken for lost', hub: leaseOf(1) },
  {
    name: 'what an agent came back without is not given out again',
    hub: ({ queue }) => ({ queue: { ...queue, runningOn: () => Promise.resolve([]) } }),
  },
  {
    name: 'a hub that starts does not look what waits',
    hub: ({ queue }) => ({ queue: { ...queue, waitingGroups: () => Promise.resolve([]) } }),
  },
  {
    name: 'the newest task goes first',
    hub: ({ queue }) => ({
      queue: {
        ...queue,
        heads: async (groups) => {
          const all = await queue.heads(groups.map((group) => ({ ...group, limit: 1000 })));
          return groups.flatMap(({ requirementKey, limit }) =>
            all.filter((head) => head.requirementKey === requirementKey).slice(-limit),
          );
        },
      },
    }),
  },
  {
    name: 'a new task that comes before others is put behind them',
    hub: ({ queue }) => ({
      queue: {
        ...queue,
        insert: (tasks, waits) =>
          queue.insert(tasks, (waiting) => waits?.(waiting.map((task) => ({ ...task, priorityRank: 9 })))),
      },
    }),
  },
  {
    name: 'an instance is free without a report',
    agents: (agents) => ({
      ...agents,
      reported: async (_, connection, { taskId, attempt, instanceId }) =>
        connection.acknowledge({ taskId, attempt, instanceId }, true),
    }),
  },
  {
    name: 'what an agent runs is forgotten when it comes back',
    agents: (agents) => ({
      ...agents,
      join: (introduction, connection) => agents.join({ ...introduction, running: [] }, connection),
    }),
  },
  {
    name: 'a content is acknowledged and not kept',
    hub: ({ files }) => {
      const lost = new Set<string>();
      return {
        files: broken(files, {
          find: async (wanted) => {
            const digest = typeof wanted === 'string' ? wanted : wanted.digest;
            lost.add(digest);
            return { sizeBytes: 0, isEncrypted: false, open: () => Readable.from([]) };
          },
        }),
      };
    },
  },
  {
    name: 'a spooled report does not survive the agent',
    agent: ({ spool }) => ({ spool: { ...spool, leftOver: [], put: () => Promise.resolve() } }),
  },
  {
    name: 'an agent forgets to say what it runs',
    agent: ({ hub }) => ({
      hub: {
        ...hub,
        join: (address, listener, signal) =>
          hub.join(
            address,
            { ...listener, introduce: () => ({ ...listener.introduce(), running: [], spooled: [] }) },
            signal,
          ),
      },
    }),
  },
  { name: 'an agent that is stopped gives back its tasks before their time', agent: drainOf(1) },
  { name: 'an agent that is stopped waits for its tasks for ever', agent: drainOf(1e12) },
  {
    name: 'an end is written without the names of its files in the output storage',
    hub: ({ queue }) => ({
      queue: { ...queue, end: (ended) => queue.end(ended.map((end) => ({ ...end, storedFiles: [] }))) },
    }),
  },
  namesBeforeItCounts(),
  {
    name: 'a transfer that is taken up leaves out a byte, and nobody compares the digest',
    hub: ({ files }, { inlineBlobs }) => {
      const kept = new Map<string, Buffer>();
      return {
        files: broken(files, {
          receivedBytes: async (digest) => kept.get(digest)?.length ?? 0,
          receive: async ({ digest }, content: AsyncIterable<Buffer>, fromByte = 0) => {
            const before = fromByte === 0 ? undefined : kept.get(digest);
            let whole = before?.subarray(0, -1) ?? Buffer.alloc(0);
            for await (const piece of content) {
              whole = Buffer.concat([whole, piece]);
              kept.set(digest, whole);
            }
            await inlineBlobs.put(digest, whole, 0);
          },
        }),
      };
    },
  },
  {
    name: 'a part of an input is taken for the whole',
    agent: ({ cache }) => ({
      cache: {
        ...cache,
        pin: async (file) => (await cache.pin(file)) || (await cache.keptBytes(file.digest)) > 0,
        put: (file, content, fromByte) => cache.put(file, content, fromByte).catch(() => undefined),
      },
    }),
  },
  {
    name: 'a job that met a full disk fails for it',
    agent: ({ workspace }) => ({
      workspace: {
        ...workspace,
        freeSpace: async () => [],
        create: async (ref) => ({ ...(await workspace.create(ref)), takesMore: async () => true }),
      },
    }),
  },
  {
    name: 'a fault of the store as a lease ends is the end of it',
    hub: leaseWithoutRetry,
  },
  {
    name: 'a fault of the store as tasks are given out is not followed by another try',
    hub: roundsWithoutRetry,
  },
  {
    name: 'an attempt that was given back is believed when that is told again',
    hub: ({ queue }, store) => ({
      queue: {
        ...queue,
        requeue: async (released) => {
          const done = await queue.requeue(released);
          for (const [index, { ref }] of released.entries()) {
            if (!done[index]) continue;
            store.tamper(
              `UPDATE task SET instance_id = ? WHERE id = ? AND attempt = ? AND status = 'WAITING'`,
              ...[ref.instanceId, ref.taskId, ref.attempt],
            );
          }
          return done;
        },
      },
    }),
  },
  {
    name: 'ended tasks are removed before their time',
    hub: ({ archive }) => ({
      archive: {
        ...archive,
        endedBefore: (timeMs, limit) => archive.endedBefore(timeMs + KEPT_SHORTLY_MS / 2, limit),
      },
    }),
  },
  {
    name: 'sweeping ends with the first fault of the store',
    hub: ({ archive }) => {
      let isOver = false;
      return {
        archive: {
          ...archive,
          endedBefore: async (timeMs, limit) => (isOver ? [] : archive.endedBefore(timeMs, limit)),
          remove: (taskIds) =>
            archive.remove(taskIds).catch((error: unknown) => {
              isOver = true;
              throw error;
            }),
        },
      };
    },
  },
  {
    name: 'inputs that no job needs any more are held in the cache',
    agent: ({ cache }) => ({ cache: { ...cache, unpin: () => undefined } }),
  },
  {
    name: 'a name in the input storage goes on standing for what it stood for',
    hub: ({ names }) => ({
      names: {
        ...names,
        put: async (stored, terms) => {
          if (await names.find(stored.area, stored.name, 0)) return { kind: 'NAMED' };
          return names.put(stored, terms);
        },
      },
    }),
  },
];

function namesBeforeItCounts(): Breakage {
  let names: HubPorts['names'] | undefined;
  return {
    name: 'files get their names in the output storage though their attempt does not count',
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

function onDisk(options: BlobStoreOptions, change: (disk: BlobDisk) => BlobDisk): BlobStoreOptions {
  return { ...options, disk: change(options.disk as BlobDisk) };
}

function withoutHolds(files: FileStore): FileStore {
  const hold = () => ({ add: () => undefined, release: () => undefined, abandon: () => undefined });
  return broken(files, { hold });
}

/** The store, in which these take the place of its own methods. */
function broken(files: FileStore, methods: Partial<FileStore>): FileStore {
  return Object.assign(files, methods);
}

/** The archive as it would be if a task were taken for running as long as anybody reports of it. */
function withoutStatus(store: SimulatedStore): HubPorts['archive'] {
  return {
    ...store.archive,
    find: async (taskId) => {
      const task = await store.archive.find(taskId);
      return task && task.attempt > 0 ? { ...task, status: 'RUNNING' } : task;
    },
  };
}
