/** Defects in the fences, numbers and leases of attempts. */
import type { Task } from '@workbench-hub/hub/core/task';
import type { Breakage } from './breakage.js';
import { ACTIVE_ATTEMPT, fence, leaseOf, withoutStatus } from './wrappers.js';

export const ATTEMPT_BREAKAGES: readonly Breakage[] = [
  {
    name: 'an end without its fence',
    seed: 1,
    hub: ({ queue }, store) => ({
      queue: {
        ...queue,
        end: async (ended, freed) => {
          const counted = await queue.end(ended, freed);
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
    seed: 1,
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
    seed: 2,
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
    name: 'a claim does not increase the attempt number',
    seed: 1,
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
    name: 'requeuing resets the attempt number',
    seed: 1,
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
    seed: 10,
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
          return held.map(() => ({ dequeuedFrom: null }));
        },
      },
    }),
  },
  {
    name: 'no attempt that an agent holds is adopted',
    seed: 1,
    hub: ({ queue }) => ({
      queue: { ...queue, adopt: (held) => Promise.resolve(held.map(() => null)) },
    }),
  },
  { name: 'messages are lost and the connection stays open', seed: 2, wire: { losesOneIn: 20 } },
  {
    name: 'a cancel is shown before it is durable',
    seed: 43,
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
  { name: 'a lease never ends', seed: 9, hub: leaseOf(1e12) },
  { name: 'an unreachable agent is treated as lost at once', seed: 1, hub: leaseOf(1) },
  {
    name: 'tasks that a rejoining agent lacks are not requeued',
    seed: 1,
    hub: ({ queue }) => ({ queue: { ...queue, runningOn: () => Promise.resolve([]) } }),
  },
];
