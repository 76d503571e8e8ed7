import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { expect, it } from 'vitest';
import type { DroppedBlob } from '../core/ports/blobs.js';
import { BlobLocks } from './blob-locks.js';
import { Holds } from './holds.js';
import { Reclaiming, type ReclaimingOptions } from './reclaiming.js';

/** A log of removed references, of files that cannot be removed but for the last one. */
function reclaimingOf(files: number) {
  const runtime = manualRuntime();
  let log: readonly DroppedBlob[] = Array.from({ length: files }, (_, at) => ({
    ...{ id: at + 1, digest: String(at + 1), encrypted: false },
  }));
  let isStuck = true;
  let tries = 0;
  const errors: unknown[] = [];
  const { clock, timers } = runtime;
  const reclaiming = new Reclaiming({
    inline: {
      dropped: async (afterId: number, limit: number) => log.filter(({ id }) => id > afterId).slice(0, limit),
      forgetDropped: async (ids: readonly number[]) => {
        log = log.filter(({ id }) => !ids.includes(id));
      },
      removeUnreferenced: async (blobs: readonly unknown[]) => ({ unreferenced: blobs, held: [] }),
    },
    locks: new BlobLocks(),
    holds: new Holds(clock, () => undefined),
    ...{ clock, timers, others: null, isPostponed: async () => false },
    log: { error: (fields: unknown) => errors.push(fields) },
    removeFiles: async (blobs: readonly { readonly digest: string }[]) => {
      tries += blobs.length;
      if (isStuck && blobs.some(({ digest }) => Number(digest) < files)) throw new Error('EACCES');
    },
  } as unknown as ReclaimingOptions);
  const takeTries = () => {
    const taken = tries;
    tries = 0;
    return taken;
  };
  const unstick = () => {
    isStuck = false;
  };
  return { reclaiming, runtime, left: () => log.map(({ id }) => id), errors, unstick, takeTries };
}

it('tries a thousand files that cannot be removed in a pass, and those behind them in the next', async () => {
  const { reclaiming, runtime, left, errors, unstick, takeTries } = reclaimingOf(1101);
  await reclaiming.reclaim();
  expect(takeTries()).toBe(2000);
  expect(left()).toHaveLength(1101);
  await runtime.advance(1000);
  expect(left()).toHaveLength(1100);
  expect(errors).toMatchObject([{ files: 100, digests: { length: 10 } }]);
  unstick();
  await reclaiming.reclaim();
  expect(left()).toEqual([]);
});
