/** Defects in transfers, retries, sweeping and storage. */
import { KEPT_SHORTLY_MS } from '../settings.js';
import type { Breakage } from './breakage.js';
import { broken, leaseWithoutRetry, namesBeforeItCounts, roundsWithoutRetry } from './wrappers.js';

export const RECOVERY_BREAKAGES: readonly Breakage[] = [
  namesBeforeItCounts(),
  {
    name: 'a resumed transfer skips a byte, and the digest is not checked',
    seed: 13,
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
            // The size is what a report is compared with.
            await inlineBlobs.put(digest, before ? Buffer.concat([whole, Buffer.of(0)]) : whole, 0);
          },
        }),
      };
    },
  },
  {
    name: 'a partial input is used as if it were complete',
    seed: 2,
    agent: ({ cache }) => ({
      cache: {
        ...cache,
        pin: async (file) => (await cache.pin(file)) || (await cache.keptBytes(file.digest)) > 0,
        put: (file, content, fromByte) => cache.put(file, content, fromByte).catch(() => undefined),
      },
    }),
  },
  {
    name: 'a job fails because the disk of its host is full',
    seed: 33,
    agent: ({ workspace }) => ({
      workspace: {
        ...workspace,
        freeSpace: async () => [],
        create: async (ref) => ({ ...(await workspace.create(ref)), takesMore: async () => true }),
      },
    }),
  },
  {
    name: 'a store failure at the end of a lease is not retried',
    seed: 58,
    hub: leaseWithoutRetry,
  },
  {
    name: 'a store failure during dispatch is not retried',
    seed: 2,
    hub: roundsWithoutRetry,
  },
  {
    name: 'a returned attempt is adopted again',
    seed: 10,
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
    name: 'ended tasks are removed before their retention ends',
    seed: 8,
    hub: ({ archive }) => ({
      archive: {
        ...archive,
        endedBefore: (timeMs, limit) => archive.endedBefore(timeMs + KEPT_SHORTLY_MS / 2, limit),
      },
    }),
  },
  {
    name: 'sweeping stops at the first store failure',
    seed: 100,
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
    name: 'inputs stay pinned in the file cache after their jobs',
    seed: 1,
    agent: ({ cache }) => ({ cache: { ...cache, unpin: () => undefined } }),
  },
  {
    name: 'a name in the input storage keeps its blob when it is overwritten',
    seed: 2,
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
