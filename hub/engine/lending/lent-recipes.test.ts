import { describe, expect, it } from 'vitest';
import type { SpareRecipe } from '../hosts/recipe-capacity.js';
import type { LendingRule } from './lending-settings.js';
import { lentRecipes, wantedWithin } from './lent-recipes.js';

const ANY: LendingRule = {
  ...{ labels: [], instances: [], max: null, takeBackMs: null, isAlways: false, hours: [] },
  hasHosts: true,
};
const NOW = { isOpen: true, room: Number.POSITIVE_INFINITY, nowMs: 100_000 };
const GEARS = { version: '9.1', labels: ['gears'], runs: { models: ['MJCF'] } };
const BELTS = { version: '9.1', labels: ['belts'], runs: undefined };

const spareWith = (fields: Partial<SpareRecipe> = {}): SpareRecipe => ({
  name: 'drives',
  instances: [
    { instanceClass: GEARS, count: 2, ids: ['gear-1', 'gear-2'] },
    { instanceClass: BELTS, count: 1, ids: ['belt'] },
  ],
  usableMs: 3_600_000,
  free: 7,
  outlook: {
    ...{ recipe: 'drives', coming: 2, joined: 1, obstacle: null },
    ...{ sinceMs: 40_000, expectedMs: 130_000, nextTryAtMs: null },
  },
  ...fields,
});

const lent = (rule: Partial<LendingRule>, now: Partial<typeof NOW> = {}, spare = spareWith()) =>
  lentRecipes({ ...ANY, ...rule }, [spare], { ...NOW, ...now });

describe('the recipes that a hub lends', () => {
  it('have their instances by class, and times from now on', () => {
    expect(lent({})).toEqual([
      {
        name: 'drives',
        instances: [
          { ...GEARS, count: 2 },
          { version: '9.1', labels: ['belts'], count: 1 },
        ],
        ...{ usableMs: 3_600_000, free: 7, coming: 2, joined: 1, obstacle: null },
        ...{ comingForMs: 60_000, expectedInMs: 30_000, nextTryInMs: null },
      },
    ]);
  });

  it('have only the instances that may be lent, by label and by id', () => {
    expect(lent({ labels: ['belts'] })).toMatchObject([{ instances: [{ labels: ['belts'], count: 1 }] }]);
    expect(lent({ instances: ['drives-*-gear-2'] })).toMatchObject([
      { instances: [{ labels: ['gears'], count: 1 }] },
    ]);
    expect(lent({ instances: ['presses-*'] })).toEqual([]);
  });

  it('bring no more hosts than the number of lent instances permits', () => {
    expect(lent({}, { room: 4 })).toMatchObject([{ free: 2 }]);
    expect(lent({ labels: ['belts'] }, { room: 4 })).toMatchObject([{ free: 4 }]);
    expect(lent({}, { room: 0 })).toMatchObject([{ free: 0 }]);
    expect(lent({}, { room: -1 })).toMatchObject([{ free: 0 }]);
  });

  it('are none while nothing is offered, when hosts are not lent, and when their hosts have no time for tasks', () => {
    expect(lent({}, { isOpen: false })).toEqual([]);
    expect(lent({ hasHosts: false })).toEqual([]);
    expect(lent({}, {}, spareWith({ usableMs: 0 }))).toEqual([]);
  });

  it('tell no time that has passed', () => {
    const { outlook } = spareWith();
    const overdue = { ...outlook, expectedMs: 99_000, nextTryAtMs: 1000, sinceMs: 200_000 };
    expect(lent({}, {}, spareWith({ outlook: overdue }))).toMatchObject([
      { expectedInMs: 0, nextTryInMs: 0, comingForMs: 0 },
    ]);
  });

  it('tell hosts that are coming only as far as this hub does not need them, and why there are no more', () => {
    expect(lent({}, {}, spareWith({ free: 1 }))).toMatchObject([{ free: 1, coming: 1, obstacle: null }]);
    expect(lent({}, {}, spareWith({ free: 0 }))).toMatchObject([
      { free: 0, coming: 0, comingForMs: null, expectedInMs: null, obstacle: 'MAX_ALLOCATIONS' },
    ]);
    const hinderedBy = (obstacle: SpareRecipe['outlook']['obstacle']) =>
      spareWith({ outlook: { ...spareWith().outlook, obstacle } });
    expect(lent({}, {}, hinderedBy('UNREACHABLE'))).toMatchObject([{ free: 2, obstacle: 'UNREACHABLE' }]);
    expect(lent({}, {}, hinderedBy('USER_ALLOCATIONS'))).toMatchObject([{ obstacle: 'MAX_ALLOCATIONS' }]);
    expect(lent({}, {}, hinderedBy('USER_HOST_HOURS'))).toMatchObject([{ obstacle: 'HOST_HOURS' }]);
  });

  it('have no more classes of instances, and no longer names, than a message may have', () => {
    const instances = Array.from({ length: 101 }, (_, at) => ({
      ...{ instanceClass: { ...BELTS, version: `${at}` }, count: 1, ids: ['belt'] },
    }));
    expect(lent({}, {}, spareWith({ instances }))[0]?.instances).toHaveLength(100);
    expect(lent({}, {}, spareWith({ name: 'a'.repeat(1601) }))).toEqual([]);
  });
});

describe('what an upstream wants', () => {
  const requirement = { version: null, labels: [] };
  const [recipe] = lent({}, {}, spareWith({ free: 2 }));
  const within = (...counts: number[]) =>
    wantedWithin(
      counts.map((count) => ({ recipe: 'drives', requirement, count })),
      recipe ? [recipe] : [],
      NOW.room,
    ).map(({ count }) => count);

  it('is bounded by the instances that free hosts have', () => {
    expect(within(4)).toEqual([4]);
    expect(within(4, 9, 5)).toEqual([4, 2]);
    const presses = [{ recipe: 'presses', requirement, count: 1 }];
    expect(wantedWithin(presses, recipe ? [recipe] : [], NOW.room)).toEqual([]);
  });

  it('is bounded over all recipes by the number of lent instances, and the rest of the last host', () => {
    const recipes = [spareWith(), spareWith({ name: 'gears' })].flatMap((spare) =>
      lent({}, { room: 4 }, spare),
    );
    const wanted = ['drives', 'gears'].map((name) => ({ recipe: name, requirement, count: 5 }));
    const countsIn = (room: number) => wantedWithin(wanted, recipes, room).map(({ count }) => count);
    expect(countsIn(4)).toEqual([5]);
    expect(countsIn(6)).toEqual([5, 3]);
    expect(countsIn(0)).toEqual([]);
    expect(countsIn(NOW.room)).toEqual([5, 5]);
  });
});
