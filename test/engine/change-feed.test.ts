import { ChangeFeed, type ChangeListener } from '@workbench-hub/hub/engine/following/change-feed';
import { expect, it } from 'vitest';
import { HandDrivenRuntime } from '../support/engine/hand-driven-runtime.js';
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
    owner: null,
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

it('gives users turns: one who listens at many places comes to each of them after the others', async () => {
  const runtime = new HandDrivenRuntime();
  const told: string[] = [];
  const feed = new ChangeFeed({
    timers: runtime.timers,
    clock: runtime.clock,
    log: memoryLog().log,
    changes: {
      latest: async () => 'h.9',
      since: async () => ({ changes: [], cursor: 'h.9', isLast: true }),
      watch: () => () => undefined,
    },
  });
  const listen = (owner: string, cursor: string) =>
    feed.add({
      cursor,
      owner,
      isBusy: false,
      mayListen: () => true,
      take: () => void told.push(`${owner} ${cursor}`),
      reset: () => undefined,
      end: () => undefined,
    });
  for (const cursor of ['h.1', 'h.2', 'h.3']) listen('greedy', cursor);
  listen('other', 'h.4');
  await runtime.advance(1);
  expect(told).toEqual(['greedy h.1', 'other h.4', 'greedy h.2', 'greedy h.3']);
});

it('lets other work have its turn between places that take long', async () => {
  const runtime = new HandDrivenRuntime();
  let turns = 0;
  const turnsAtPages: number[] = [];
  const feed = new ChangeFeed({
    timers: {
      ...runtime.timers,
      soon: (action) =>
        runtime.timers.soon(() => {
          turns++;
          action();
        }),
    },
    clock: runtime.clock,
    log: memoryLog().log,
    changes: {
      latest: async () => 'h.9',
      since: async () => ({ changes: [], cursor: 'h.9', isLast: true }),
      watch: () => () => undefined,
    },
  });
  for (const cursor of ['h.1', 'h.2', 'h.3']) {
    feed.add({
      cursor,
      owner: cursor,
      isBusy: false,
      mayListen: () => true,
      take: () => {
        turnsAtPages.push(turns);
        runtime.skip(20);
      },
      reset: () => undefined,
      end: () => undefined,
    });
  }
  await runtime.advance(1);
  expect(turnsAtPages).toEqual([0, 1, 2]);
});
