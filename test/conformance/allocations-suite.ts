import type { Allocation } from '@workbench-hub/hub/core/hosts/allocation';
import { allocationWith } from '@workbench-hub/hub/core/hosts/fixtures/allocation';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { OpenStore, StoreUnderTest } from './store-under-test.js';

/** Term of a scheduler that nobody has been yet. */
const TERM = 0;
const HOUR_MS = 3_600_000;

const allocation = (id: string, rest: Partial<Allocation> = {}) => allocationWith({ id, ...rest });

export function describeAllocations(open: OpenStore): void {
  let store: StoreUnderTest;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());

  const ended = (id: string, startedAtMs: number, endedAtMs: number, recipe = 'gears') =>
    allocation(id, { recipe, state: 'ENDED', cause: 'IDLE', startedAtMs, endedAtMs });

  describe('allocations', () => {
    it('are kept with all that they say, over a restart', async () => {
      const full = allocation('gears-a', {
        forUser: 'anna',
        ...{ state: 'LOST', jobId: '17', cause: 'GONE', message: 'node failure' },
        ...{ startedAtMs: 1100, joinedAtMs: 1200, endsAtMs: 9000, endedAtMs: 1300 },
      });
      const wanted = allocation('gears-b');
      expect(await store.allocations.add(full, TERM)).toBe(true);
      expect(await store.allocations.add(wanted, TERM)).toBe(true);
      store = await store.reopen();
      expect(await store.allocations.find('gears-a')).toEqual(full);
      expect(await store.allocations.find('gears-c')).toBeUndefined();
      expect(await store.allocations.open()).toEqual([wanted]);
      expect(await store.allocations.latest({ recipe: null, limit: 9, nowMs: HOUR_MS })).toEqual([full]);
    });

    it('change only from the state that they have', async () => {
      const wanted = allocation('gears-a');
      await store.allocations.add(wanted, TERM);
      const queued = allocation('gears-a', { state: 'QUEUED', jobId: '17', message: 'Priority' });
      expect(await store.allocations.change(queued, 'SUBMITTED', TERM)).toBe(false);
      expect(await store.allocations.open()).toEqual([wanted]);
      expect(await store.allocations.change(queued, 'WANTED', TERM)).toBe(true);
      expect(await store.allocations.change(queued, 'WANTED', TERM)).toBe(false);
      expect(await store.allocations.open()).toEqual([queued]);
      const joined = { ...queued, state: 'JOINED' as const, startedAtMs: 5, joinedAtMs: 6, endsAtMs: 7 };
      expect(await store.allocations.change(joined, 'QUEUED', TERM)).toBe(true);
      expect(await store.allocations.find('gears-a')).toEqual(joined);
      expect(await store.allocations.change(allocation('gears-x'), 'WANTED', TERM)).toBe(false);
    });

    it('are listed oldest first while they are open, and the latest first when they are over', async () => {
      for (const id of ['gears-b', 'gears-a', 'gears-c']) await store.allocations.add(allocation(id), TERM);
      await store.allocations.add(ended('old', 10, 20), TERM);
      await store.allocations.add(ended('new', 10, 40, 'belts'), TERM);
      await store.allocations.add(ended('middle', 10, 30), TERM);
      const ids = (list: readonly Allocation[]) => list.map(({ id }) => id);
      expect(ids(await store.allocations.open())).toEqual(['gears-b', 'gears-a', 'gears-c']);
      const latest = async (recipe: string | null, limit: number) =>
        ids(await store.allocations.latest({ recipe, limit, nowMs: HOUR_MS }));
      expect(await latest(null, 2)).toEqual(['new', 'middle']);
      expect(await latest('gears', 9)).toEqual(['middle', 'old']);
      expect(await latest('chains', 9)).toEqual([]);
    });

    it('that ended after now, by a clock that was set back since, hide none that ended later', async () => {
      for (const [id, endedAtMs] of [
        ['old', 20],
        ['before-1', 900],
        ['before-2', 950],
        ['after', 40],
      ] as const)
        await store.allocations.add(ended(id, 10, endedAtMs), TERM);
      await store.allocations.add(ended('other', 10, 45, 'belts'), TERM);
      const latest = async (recipe: string | null, limit: number) =>
        (await store.allocations.latest({ recipe, limit, nowMs: 50 })).map(({ id }) => id);
      expect(await latest('gears', 2)).toEqual(['after', 'old']);
      expect(await latest('gears', 3)).toEqual(['after', 'old', 'before-2']);
      expect(await latest(null, 9)).toEqual(['other', 'after', 'old', 'before-2', 'before-1']);
    });

    it('tell how long those of a recipe ran since a time', async () => {
      const { allocations } = store;
      expect(await allocations.ranSince(0, HOUR_MS)).toEqual(new Map());
      await allocations.add(ended('before', 0, 100), TERM);
      await allocations.add(ended('across', 50, 300), TERM);
      await allocations.add(ended('within', 400, 500), TERM);
      await allocations.add(
        allocation('never', { state: 'ENDED', cause: 'NOT_NEEDED', endedAtMs: 500 }),
        TERM,
      );
      await allocations.add(allocation('runs', { state: 'JOINED', startedAtMs: 600 }), TERM);
      await allocations.add(allocation('waits', { state: 'QUEUED' }), TERM);
      await allocations.add(ended('other', 100, 110, 'belts'), TERM);
      expect(await allocations.ranSince(100, 1000)).toEqual(
        new Map([
          ['gears', 200 + 100 + 400],
          ['belts', 10],
        ]),
      );
    });

    it('ran until the end of their time at most, however late their end is noticed', async () => {
      const { allocations } = store;
      const times = { startedAtMs: 100, endsAtMs: 300, forUser: 'anna' };
      await allocations.add(
        allocation('noticed late', { state: 'LOST', cause: 'GONE', ...times, endedAtMs: 900 }),
        TERM,
      );
      await allocations.add(allocation('not noticed yet', { state: 'JOINED', ...times }), TERM);
      await allocations.add(allocation('runs', { state: 'JOINED', ...times, endsAtMs: 2000 }), TERM);
      const ranMs = 2 * 150 + 850;
      expect(await allocations.ranSince(150, 1000)).toEqual(new Map([['gears', ranMs]]));
      expect(await allocations.ranForUsersSince(150, 1000)).toEqual([
        { recipe: 'gears', forUser: 'anna', ranMs },
      ]);
      expect(await allocations.ranIn([{ fromMs: 150, untilMs: 1000 }], 1000)).toEqual([
        { at: 0, recipe: 'gears', ranMs },
      ]);
    });

    it('tell how long those of a recipe ran for each user since a time', async () => {
      const { allocations } = store;
      await allocations.add({ ...ended('a', 50, 300), forUser: 'anna' }, TERM);
      await allocations.add({ ...ended('b', 400, 500), forUser: '' }, TERM);
      await allocations.add(ended('for nobody', 400, 500), TERM);
      await allocations.add(allocation('runs', { state: 'JOINED', startedAtMs: 600, forUser: 'anna' }), TERM);
      await allocations.add(allocation('waits', { state: 'QUEUED', forUser: 'vera' }), TERM);
      expect(await allocations.ranForUsersSince(100, 1000)).toEqual([
        { recipe: 'gears', forUser: '', ranMs: 100 },
        { recipe: 'gears', forUser: 'anna', ranMs: 200 + 400 },
      ]);
    });

    it('tell how long those of a recipe ran in periods', async () => {
      const { allocations } = store;
      await allocations.add(ended('before', 0, 100), TERM);
      await allocations.add(ended('through all', 50, 900), TERM);
      await allocations.add(ended('within', 210, 220), TERM);
      await allocations.add(ended('other', 150, 250, 'belts'), TERM);
      await allocations.add(allocation('runs', { state: 'JOINED', startedAtMs: 280 }), TERM);
      await allocations.add(allocation('waits', { state: 'QUEUED' }), TERM);
      // The clock was set back after the start of these.
      await allocations.add(ended('ended before its start', 260, 230), TERM);
      await allocations.add(allocation('starts later', { state: 'JOINED', startedAtMs: 360 }), TERM);
      const periods = [
        { fromMs: 300, untilMs: 400 },
        { fromMs: 200, untilMs: 300 },
        { fromMs: 100, untilMs: 200 },
      ];
      expect(await allocations.ranIn(periods, 310)).toEqual([
        { at: 0, recipe: 'gears', ranMs: 100 + 10 },
        { at: 1, recipe: 'belts', ranMs: 50 },
        { at: 1, recipe: 'gears', ranMs: 100 + 10 + 20 },
        { at: 2, recipe: 'belts', ranMs: 50 },
        { at: 2, recipe: 'gears', ranMs: 100 },
      ]);
      expect(await allocations.ranIn([], 310)).toEqual([]);
    });

    it('show another version when one is over', async () => {
      const { allocations } = store;
      const joined = allocation('gears-a', { state: 'JOINED' });
      await allocations.add(joined, TERM);
      const before = await allocations.version();
      expect(await allocations.version()).toBe(before);
      await allocations.change({ ...joined, state: 'ENDED', endedAtMs: 900 }, 'JOINED', TERM);
      const after = await allocations.version();
      expect(after).not.toBe(before);
      await allocations.add(ended('gears-b', 1, 900), TERM);
      expect([before, after]).not.toContain(await allocations.version());
    });

    it('have recipes with notes, whose parts change by themselves', async () => {
      expect(await store.allocations.notes()).toEqual([]);
      const pauses = { pausedAtMs: null, pausedBy: null, resumedAtMs: null };
      const none = { ...pauses, drainedAtMs: null, drainedBy: null, fault: null };
      await store.allocations.note('gears', { fault: 'no route to host' });
      await store.allocations.note('gears', { pausedAtMs: 5, pausedBy: 'anna' });
      await store.allocations.note('belts', { drainedAtMs: 6, drainedBy: 'vera' });
      store = await store.reopen();
      const paused = { ...none, pausedAtMs: 5, pausedBy: 'anna' };
      expect(await store.allocations.notes()).toEqual([
        { ...none, recipe: 'belts', drainedAtMs: 6, drainedBy: 'vera' },
        { ...paused, recipe: 'gears', fault: 'no route to host' },
      ]);
      await store.allocations.note('gears', { fault: null });
      await store.allocations.note('belts', { pausedAtMs: null, pausedBy: null, resumedAtMs: 8 });
      expect(await store.allocations.notes()).toEqual([
        { ...none, recipe: 'belts', drainedAtMs: 6, drainedBy: 'vera', resumedAtMs: 8 },
        { ...paused, recipe: 'gears' },
      ]);
    });

    it('are removed when they were over before a time, a few at a time', async () => {
      for (const [id, endedAtMs] of [
        ['a', 10],
        ['b', 20],
        ['c', 30],
      ] as const)
        await store.allocations.add(ended(id, 1, endedAtMs), TERM);
      await store.allocations.add(allocation('open'), TERM);
      expect(await store.allocations.removeBefore(30, 1)).toBe(1);
      expect(await store.allocations.removeBefore(30, 9)).toBe(1);
      expect(await store.allocations.removeBefore(30, 9)).toBe(0);
      expect(await store.allocations.latest({ recipe: null, limit: 9, nowMs: HOUR_MS })).toMatchObject([
        { id: 'c' },
      ]);
      expect(await store.allocations.open()).toMatchObject([{ id: 'open' }]);
    });
  });
}
