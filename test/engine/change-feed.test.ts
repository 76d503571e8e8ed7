import { ChangeFeed, type ChangeListener } from '@workbench-hub/hub/engine/change-feed';
import { expect, it } from 'vitest';
import { HandDrivenRuntime } from '../support/hand-driven-runtime.js';
import { memoryLog } from '../support/memory-log.js';

/** A feed with one listener, which takes so long for each page, and whose hub always has changes. */
function busyFeed(takesMs: () => number) {
  const runtime = new HandDrivenRuntime();
  const { clock, timers } = runtime;
  const pagesAtMs: number[] = [];
  let number = 0;
  let changed: () => void = () => undefined;
  const feed = new ChangeFeed({
    timers,
    clock,
    log: memoryLog().log,
    changes: {
      latest: async () => `h.${number}`,
      since: async () => ({ changes: [], cursor: `h.${++number}`, isLast: true }),
      watch: (onChanges) => {
        changed = onChanges;
        return () => undefined;
      },
    },
  });
  const listener: ChangeListener = {
    cursor: 'h.0',
    isBusy: false,
    mayListen: () => true,
    take: () => {
      pagesAtMs.push(clock.monotonicMs());
      runtime.skip(takesMs());
    },
    reset: () => undefined,
    end: () => undefined,
  };
  feed.add(listener);
  const goOn = async (forMs: number) => {
    for (let ms = 0; ms < forMs; ms += 10) {
      changed();
      await runtime.advance(10);
    }
  };
  return { goOn, pagesAtMs };
}

it('gathers changes for longer when passing them on takes long, up to three quarters of a second', async () => {
  let takesMs = 0;
  const { goOn, pagesAtMs } = busyFeed(() => takesMs);
  await goOn(2000);
  expect(pagesAtMs.length).toBeGreaterThan(6);
  takesMs = 10;
  pagesAtMs.length = 0;
  await goOn(4000);
  expect(pagesAtMs.length).toBeGreaterThan(8);
  expect(pagesAtMs.length).toBeLessThan(12);
  takesMs = 500;
  pagesAtMs.length = 0;
  await goOn(4000);
  const [last = 0, before = 0] = pagesAtMs.toReversed();
  expect(last - before).toBeGreaterThanOrEqual(740);
  expect(last - before).toBeLessThan(800);
});
