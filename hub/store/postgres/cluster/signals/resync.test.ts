import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { expect, it } from 'vitest';
import { Resyncs } from './resync.js';

const EVERY_MS = 10_000;

async function started({ isNeeded = false } = {}) {
  const { timers, advance } = manualRuntime();
  let count = 0;
  const resyncs = new Resyncs({
    timers,
    log: { debug: () => undefined },
    everyMs: () => EVERY_MS,
    isNeeded: () => isNeeded,
    resync: async () => void count++,
  });
  resyncs.start(EVERY_MS);
  /** Number of resyncs in this time. */
  const within = async (ms: number) => {
    const before = count;
    await advance(ms);
    return count - before;
  };
  return { resyncs, within };
}

it('a lone hub resyncs after a loss of signals, and once more to settle what it found', async () => {
  const { resyncs, within } = await started();
  expect(await within(5 * EVERY_MS)).toBe(0);
  resyncs.soon();
  expect(await within(100)).toBe(1);
  expect(await within(EVERY_MS)).toBe(1);
  expect(await within(5 * EVERY_MS)).toBe(0);
});

it('a hub with others resyncs regularly', async () => {
  const { within } = await started({ isNeeded: true });
  expect(await within(5 * EVERY_MS)).toBe(5);
});
