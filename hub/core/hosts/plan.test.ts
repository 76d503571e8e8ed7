import type { Requirement } from '@workbench-hub/shared/domain/classifier';
import { describe, expect, it } from 'vitest';
import type { AllocationState } from './allocation.js';
import { allocationWith } from './fixtures/allocation.js';
import type { HostRecipe } from './host-recipe.js';
import { type PlannedRecipe, planHosts, type Supply, type WaitingGroup } from './plan.js';

const HOUR_MS = 3_600_000;
const GEARS = { version: '9.1', labels: ['gears'], runs: undefined };
const BELTS = { version: '9.1', labels: ['belts'], runs: undefined };

const recipeOf = (fields: Partial<HostRecipe> = {}): HostRecipe => ({
  name: 'gears',
  manager: 'slurm',
  managerKey: 'slurm',
  instances: [{ instanceClass: GEARS, count: 2, ids: ['gear-1', 'gear-2'] }],
  wallTimeMs: HOUR_MS,
  limits: { allocations: 10, queued: 10, hostHoursPerDay: null },
  idleMs: 60_000,
  joinWithinMs: 60_000,
  drainBeforeMs: 60_000,
  ...fields,
});

const planned = (fields: Partial<PlannedRecipe> = {}): PlannedRecipe => ({
  recipe: recipeOf(),
  allocations: [],
  starting: new Map(),
  isHeld: false,
  isTried: false,
  hostHours: 0,
  hostHoursOf: new Map(),
  ...fields,
});

const waiting = (
  count: number,
  {
    labels = ['gears'],
    medianMs = null,
    recipe = 'gears',
    forUser = null,
  }: { labels?: string[]; medianMs?: number | null; recipe?: string; forUser?: string | null } = {},
): WaitingGroup => {
  const requirement: Requirement = { version: null, labels };
  return { requirement, forUser, waitingFor: new Map([[recipe, count]]), medianMs };
};

const inStates = (...states: AllocationState[]) =>
  states.map((state, at) => allocationWith({ id: `gears-${at}`, state }));

const countOf = (groups: WaitingGroup[], recipes: PlannedRecipe[], supply: Supply[] = []) =>
  planHosts(groups, supply, recipes).wanted.length;

describe('the plan of hosts', () => {
  it('wants whole allocations for the tasks that wait, and says why', () => {
    const plan = planHosts([waiting(3)], [], [planned()]);
    expect(plan.wanted.map(({ recipe }) => recipe.name)).toEqual(['gears', 'gears']);
    expect(plan.wanted[0]?.reason).toBe('3 tasks wait for any version, labels gears');
    expect(countOf([waiting(0)], [planned()])).toBe(0);
    expect(countOf([], [planned()])).toBe(0);
  });

  it('wants nothing for tasks that its instances do not fit, or that do not end within its time', () => {
    expect(countOf([waiting(3, { labels: ['belts'] })], [planned()])).toBe(0);
    expect(countOf([waiting(3, { recipe: 'another' })], [planned()])).toBe(0);
  });

  it('counts what is coming, so that the next look wants no more', () => {
    expect(countOf([waiting(4)], [planned({ allocations: inStates('WANTED', 'SUBMITTED') })])).toBe(0);
    expect(countOf([waiting(5)], [planned({ allocations: inStates('QUEUED', 'STARTED') })])).toBe(1);
    const starting = new Map([['gears-0', 2]]);
    expect(countOf([waiting(2)], [planned({ allocations: inStates('JOINED'), starting })])).toBe(0);
    expect(countOf([waiting(2)], [planned({ allocations: inStates('JOINED') })])).toBe(1);
    expect(countOf([waiting(2)], [planned({ allocations: inStates('DRAINING') })])).toBe(1);
  });

  it('counts free instances of any host that fit', () => {
    expect(countOf([waiting(3)], [planned()], [{ instanceClass: GEARS, idle: 3, busy: 0 }])).toBe(0);
    expect(countOf([waiting(3)], [planned()], [{ instanceClass: BELTS, idle: 3, busy: 0 }])).toBe(2);
    expect(countOf([waiting(3)], [planned()], [{ instanceClass: GEARS, idle: 0, busy: 3 }])).toBe(2);
    const ofTwoKinds = [waiting(1), waiting(1, { labels: [] })];
    expect(countOf(ofTwoKinds, [planned()], [{ instanceClass: GEARS, idle: 1, busy: 0 }])).toBe(1);
  });

  it('wants no host for each of many short tasks: a minute of work is one instance', () => {
    expect(countOf([waiting(1000, { medianMs: 100 })], [planned()])).toBe(1);
    expect(countOf([waiting(2400, { medianMs: 100 })], [planned()])).toBe(2);
    expect(countOf([waiting(3, { medianMs: HOUR_MS })], [planned()])).toBe(2);
    const busy = [{ instanceClass: GEARS, idle: 0, busy: 4 }];
    expect(countOf([waiting(2400, { medianMs: 100 })], [planned()], busy)).toBe(0);
    expect(countOf([waiting(4, { medianMs: HOUR_MS })], [planned()], busy)).toBe(2);
  });

  it('keeps to the limits of the recipe', () => {
    const limited = (limits: Partial<HostRecipe['limits']>, rest: Partial<PlannedRecipe> = {}) =>
      planned({
        recipe: recipeOf({ limits: { allocations: 10, queued: 10, hostHoursPerDay: null, ...limits } }),
        ...rest,
      });
    expect(countOf([waiting(99)], [limited({})])).toBe(10);
    expect(
      countOf([waiting(99)], [limited({ allocations: 3 }, { allocations: inStates('JOINED', 'DRAINING') })]),
    ).toBe(1);
    expect(
      countOf([waiting(99)], [limited({ queued: 2 }, { allocations: inStates('QUEUED', 'STARTED') })]),
    ).toBe(1);
    expect(countOf([waiting(99)], [limited({ hostHoursPerDay: 4 }, { hostHours: 1.5 })])).toBe(2);
    expect(countOf([waiting(99)], [limited({}, { isHeld: true })])).toBe(0);
    expect(
      countOf([waiting(99)], [limited({ allocations: 1 }, { allocations: inStates('JOINED', 'JOINED') })]),
    ).toBe(0);
  });

  it('tries a recipe whose latest start has failed by one allocation at a time', () => {
    expect(countOf([waiting(9)], [planned({ isTried: true })])).toBe(1);
    expect(countOf([waiting(9)], [planned({ isTried: true, allocations: inStates('STARTED') })])).toBe(0);
    expect(countOf([waiting(9)], [planned({ isTried: true, allocations: inStates('JOINED') })])).toBe(1);
  });

  it('leaves tasks that a recipe has no time for to one with more time, wherever it stands', () => {
    const brief = planned();
    const lasting = planned({ recipe: recipeOf({ name: 'lasting' }) });
    const group = {
      ...waiting(0),
      waitingFor: new Map([
        ['gears', 2],
        ['lasting', 10],
      ]),
    };
    const names = (recipes: PlannedRecipe[]) =>
      planHosts([group], [], recipes).wanted.map(({ recipe }) => recipe.name);
    expect(names([brief, lasting])).toEqual(['gears', 'lasting', 'lasting', 'lasting', 'lasting']);
    expect(names([lasting, brief])).toEqual(['lasting', 'lasting', 'lasting', 'lasting', 'lasting']);
  });

  it('shares the tasks among recipes in their order, each task once', () => {
    const first = planned({
      recipe: recipeOf({ limits: { allocations: 1, queued: 1, hostHoursPerDay: null } }),
    });
    const second = planned({ recipe: recipeOf({ name: 'more' }) });
    const group = {
      ...waiting(3),
      waitingFor: new Map([
        ['gears', 3],
        ['more', 3],
      ]),
    };
    const names = planHosts([group], [], [first, second]).wanted.map(({ recipe }) => recipe.name);
    expect(names).toEqual(['gears', 'more']);
  });

  it('names allocations that have not started and are not needed, the newest first', () => {
    const allocations = inStates('JOINED', 'STARTED', 'QUEUED', 'SUBMITTED', 'WANTED', 'DRAINING');
    const surplus = (count: number) =>
      planHosts([waiting(count)], [], [planned({ allocations })]).surplus.map(({ id }) => id);
    expect(surplus(0)).toEqual(['gears-4', 'gears-3', 'gears-2']);
    expect(surplus(3)).toEqual(['gears-4', 'gears-3']);
    expect(surplus(8)).toEqual([]);
  });
});

describe('bounds by user', () => {
  const one = { instances: [{ instanceClass: GEARS, count: 1, ids: ['gear-1'] }] };
  const bound = (perUser: { allocations?: number; hostHoursPerDay?: number }) => {
    const limits = { allocations: 10, queued: 10, hostHoursPerDay: null };
    const none = { allocations: null, hostHoursPerDay: null };
    return recipeOf({ ...one, limits: { ...limits, perUser: { ...none, ...perUser } } });
  };
  const usersOf = (groups: WaitingGroup[], recipe: PlannedRecipe) =>
    planHosts(groups, [], [recipe]).wanted.map(({ forUser }) => forUser);
  const groups = [
    waiting(5, { forUser: 'anna' }),
    waiting(3, { forUser: '' }),
    waiting(1, { forUser: 'vera' }),
  ];

  it('leave hosts for the tasks of others', () => {
    const recipe = bound({ allocations: 2 });
    expect(usersOf(groups, planned({ recipe }))).toEqual(['anna', '', 'vera', 'anna', '']);
    const allocations = [
      allocationWith({ id: 'gears-1', state: 'JOINED', forUser: 'anna' }),
      allocationWith({ id: 'gears-2', state: 'DRAINING', forUser: '' }),
    ];
    expect(usersOf(groups, planned({ recipe, allocations }))).toEqual(['vera', 'anna', '']);
  });

  it('of one recipe do not count for another', () => {
    const { wanted } = planHosts(groups, [], [planned({ recipe: recipeOf() })]);
    expect(wanted.map(({ forUser }) => forUser)).toEqual([null, null, null, null, null]);
    expect(wanted[0]?.reason).toBe('9 tasks wait for any version, labels gears');
  });

  it('give a small recipe to the users in turn', () => {
    const limits = { allocations: 2, queued: 2, hostHoursPerDay: null };
    const small = (most: number) => {
      const perUser = { allocations: 2, hostHoursPerDay: null };
      return recipeOf({ ...one, limits: { ...limits, allocations: most, perUser } });
    };
    const many = ['anna', 'vera'].map((forUser) => waiting(5000, { forUser }));
    expect(usersOf(many, planned({ recipe: small(2) }))).toEqual(['anna', 'vera']);
    const allocations = [allocationWith({ id: 'gears-1', state: 'JOINED', forUser: 'anna' })];
    expect(usersOf(many, planned({ recipe: small(2), allocations }))).toEqual(['vera']);
    expect(usersOf(many, planned({ recipe: small(3), allocations }))).toEqual(['vera', 'anna']);
  });

  it('want no host for each user of many with short tasks', () => {
    const users = Array.from({ length: 50 }, (_, at) => `user-${at}`);
    const ofUsers = users.map((forUser) => waiting(1, { forUser, medianMs: 100 }));
    const recipe = bound({ allocations: 1 });
    expect(usersOf(ofUsers, planned({ recipe }))).toEqual(['user-0']);
    const coming = [allocationWith({ id: 'gears-1', state: 'QUEUED', forUser: 'user-7' })];
    expect(usersOf(ofUsers, planned({ recipe, allocations: coming }))).toEqual([]);
    const joined = [allocationWith({ id: 'gears-1', state: 'JOINED', forUser: 'user-0' })];
    expect(usersOf(ofUsers, planned({ recipe, allocations: joined }))).toEqual(['user-1']);
  });

  it('count host-hours of the day, with those that are wanted now', () => {
    const recipe = bound({ hostHoursPerDay: 3 });
    const hostHoursOf = new Map([['anna', 1.5]]);
    expect(usersOf(groups, planned({ recipe, hostHoursOf }))).toEqual(['anna', '', 'vera', '', '']);
  });

  it('count an allocation that comes for the user for whom it was wanted', () => {
    const recipe = bound({ allocations: 1 });
    const allocations = [allocationWith({ id: 'gears-1', state: 'QUEUED', forUser: 'vera' })];
    expect(usersOf(groups, planned({ recipe, allocations }))).toEqual(['anna', '']);
    const { surplus } = planHosts([waiting(2, { forUser: 'anna' })], [], [planned({ recipe, allocations })]);
    expect(surplus).toEqual([]);
  });

  it('tells how many hosts of each recipe no task needs, coming or possible', () => {
    const recipes = [planned({ allocations: inStates('STARTED', 'QUEUED', 'JOINED') })];
    expect(planHosts([], [], recipes).free).toEqual(new Map([['gears', 9]]));
    expect(planHosts([waiting(3)], [], recipes).free).toEqual(new Map([['gears', 7]]));
    expect(planHosts([waiting(99)], [], recipes).free).toEqual(new Map([['gears', 0]]));
    expect(planHosts([], [], [planned({ isHeld: true })]).free).toEqual(new Map([['gears', 0]]));
  });

  it('wants hosts for an upstream after those for the tasks that wait here, and tells for whom', () => {
    const wished = { ...waiting(3), upstream: 'hq', forUser: '' };
    const recipe = recipeOf({ limits: { allocations: 2, queued: 2, hostHoursPerDay: null } });
    const own = waiting(2, { medianMs: 30_000 });
    const { wanted } = planHosts([own, wished], [], [planned({ recipe })]);
    expect(wanted.map(({ reason }) => reason)).toEqual([
      '2 tasks wait for any version, labels gears',
      'hq wants 3 of any version, labels gears',
    ]);
    // The second instance of the first host is for the upstream.
    const { requirement } = own;
    expect(wanted.map(({ needed }) => needed)).toEqual([
      [
        { requirement, count: 1 },
        { requirement, count: 1 },
      ],
      [{ requirement, count: 2 }],
    ]);
  });

  it('keeps hosts that are coming for a wish that is late, and wants no more for it', () => {
    const wished = { ...waiting(3), upstream: 'hq', forUser: '' };
    const late = { ...wished, isFading: true };
    const coming = planned({ allocations: inStates('QUEUED') });
    expect(planHosts([late], [], [coming])).toMatchObject({ wanted: [], surplus: [] });
    expect(planHosts([wished], [], [coming]).wanted).toHaveLength(1);
  });

  it('gives a host to a task that waits here before an upstream, also when its user has more', () => {
    const perUser = { allocations: 9, hostHoursPerDay: null };
    const recipe = recipeOf({ limits: { allocations: 2, queued: 2, hostHoursPerDay: null, perUser } });
    const allocations = [allocationWith({ id: 'gears-0', state: 'JOINED', forUser: 'ada' })];
    const groups = [waiting(1, { forUser: 'ada' }), { ...waiting(1), upstream: 'hq', forUser: '' }];
    const { wanted } = planHosts(groups, [], [planned({ recipe, allocations })]);
    expect(wanted.map(({ forUser }) => forUser)).toEqual(['ada']);
  });

  it('counts instances for those alone whose tasks they take', () => {
    const wished = { ...waiting(2), upstream: 'hq', forUser: '' };
    const supply = (takes: 'OWN' | 'UPSTREAMS') => [{ instanceClass: GEARS, takes, idle: 2, busy: 0 }];
    expect(countOf([waiting(2)], [planned()], supply('OWN'))).toBe(0);
    expect(countOf([waiting(2)], [planned()], supply('UPSTREAMS'))).toBe(1);
    expect(countOf([wished], [planned()], supply('UPSTREAMS'))).toBe(0);
    expect(countOf([wished], [planned()], supply('OWN'))).toBe(1);
    const instances = [{ instanceClass: GEARS, count: 2, takes: 'OWN' as const }];
    expect(countOf([wished], [planned({ recipe: { ...recipeOf(), instances } })])).toBe(0);
  });

  it('tells no more free hosts than the tasks of nobody may have', () => {
    const freeWith = (perUser: { allocations: number | null; hostHoursPerDay: number | null }) => {
      const recipe = recipeOf({ limits: { allocations: 9, queued: 9, hostHoursPerDay: null, perUser } });
      return planHosts([], [], [planned({ recipe, hostHoursOf: new Map([['', 1]]) })]).free.get('gears');
    };
    expect(freeWith({ allocations: 3, hostHoursPerDay: null })).toBe(3);
    expect(freeWith({ allocations: null, hostHoursPerDay: 3 })).toBe(2);
    expect(freeWith({ allocations: 1, hostHoursPerDay: 3 })).toBe(1);
    expect(freeWith({ allocations: null, hostHoursPerDay: null })).toBe(9);
  });
});

describe('allocations that have been queued for long', () => {
  const bothFor = (count: number): WaitingGroup => ({
    ...waiting(count),
    waitingFor: new Map([
      ['gears', count],
      ['belts', count],
    ]),
  });
  const ofState = (recipe: string, state: AllocationState, ids: string[]) =>
    ids.map((id) => allocationWith({ id, recipe, state }));
  const gears = planned({
    allocations: ofState('gears', 'QUEUED', ['a', 'b']),
    delayed: new Set(['a', 'b']),
  });
  const belts = (state: AllocationState = 'QUEUED', ...ids: string[]) =>
    planned({ recipe: recipeOf({ name: 'belts' }), allocations: ofState('belts', state, ids) });
  const planOf = (groups: WaitingGroup[], recipes: PlannedRecipe[]) => {
    const { wanted, surplus } = planHosts(groups, [], recipes);
    return [...wanted.map(({ recipe: { name } }) => `+${name}`), ...surplus.map(({ id }) => `-${id}`)];
  };

  it('let another recipe bring one host at a time for their tasks, and are kept meanwhile', () => {
    for (const order of [(all: PlannedRecipe[]) => all, (all: PlannedRecipe[]) => all.toReversed()]) {
      expect(planOf([bothFor(4)], order([gears, belts()]))).toEqual(['+belts']);
      expect(planOf([bothFor(4)], order([gears, belts('QUEUED', 'c')]))).toEqual([]);
      expect(planOf([bothFor(4)], order([gears, belts('STARTED', 'c')]))).toEqual([]);
      expect(planOf([bothFor(4)], order([gears, belts('QUEUED', 'c', 'd')]))).toEqual(['-d']);
    }
    const delayedToo = { ...belts('QUEUED', 'c'), delayed: new Set(['c']) };
    expect(planOf([bothFor(4)], [gears, delayedToo])).toEqual([]);
    expect(planOf([bothFor(2)], [gears, delayedToo])).toEqual(['-b']);
  });

  it('are given back when their tasks have found other hosts, before one more is wanted', () => {
    expect(planOf([bothFor(2)], [gears, belts()])).toEqual(['-b']);
    expect(planOf([bothFor(2)], [gears, belts('QUEUED', 'c')])).toEqual(['-b']);
    expect(planOf([bothFor(0)], [gears, belts('QUEUED', 'c')])).toEqual(['-b', '-a', '-c']);
  });

  it('keep what their own recipe still has to bring first', () => {
    expect(planOf([bothFor(6)], [gears, belts()])).toEqual(['+gears']);
  });

  it('change nothing where no other recipe can bring a host', () => {
    expect(planOf([waiting(4)], [gears, belts()])).toEqual([]);
    expect(planOf([bothFor(4)], [gears, { ...belts(), isHeld: true }])).toEqual([]);
  });

  it('leave one host less for others', () => {
    const freeOf = (recipes: PlannedRecipe[]) => planHosts([bothFor(4)], [], recipes).free.get('belts');
    expect(freeOf([gears, belts()])).toBe(9);
    expect(freeOf([gears, belts('QUEUED', 'c')])).toBe(9);
    expect(freeOf([planned({ allocations: gears.allocations }), belts()])).toBe(10);
  });
});
