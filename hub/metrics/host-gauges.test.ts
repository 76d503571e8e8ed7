import { describe, expect, it } from 'vitest';
import type { AllocationState } from '../core/hosts/allocation.js';
import { type ObservedRecipe, observeHosts } from './host-gauges.js';
import type { Observed, Sample } from './hub-metrics.js';

const instances = [
  { instanceClass: { version: '9.1', labels: [], runs: undefined }, count: 2, ids: ['sim-1', 'sim-2'] },
  { instanceClass: { version: '9.2', labels: [], runs: undefined }, count: 1, ids: ['sim'] },
];

const recipe = (
  name: string,
  states: readonly AllocationState[],
  rest: Partial<ObservedRecipe> = {},
  hostHoursPerDay: number | null = null,
): ObservedRecipe => ({
  recipe: { name, wallTimeMs: 7_200_000, limits: { allocations: 9, queued: 9, hostHoursPerDay }, instances },
  pausedBy: null,
  isReachable: true,
  failed: { count: 0 },
  hostHours: 0,
  reservedHostHours: 0,
  allocations: states.map((state) => ({ state })),
  ...rest,
});

/** Values of all gauges, and how often the recipes were asked for. */
async function measure(views: readonly ObservedRecipe[]) {
  const gauges = new Map<string, () => Observed | Promise<Observed>>();
  const ofState = new Map<string, () => Promise<readonly Sample[]>>();
  let asked = 0;
  observeHosts(
    {
      observe: (name, _help, _label, ask) => void gauges.set(name, ask),
      observeAll: (name, _help, _labels, ask) => void ofState.set(name, ask),
    },
    async () => {
      asked++;
      return views;
    },
  );
  const [values, samples] = await Promise.all([
    Promise.all([...gauges].map(async ([name, ask]) => [name, await ask()] as const)),
    ofState.get('hosts_allocations')?.() ?? [],
  ]);
  return { values: Object.fromEntries(values), samples, asked };
}

describe('the gauges of hosts', () => {
  it('are those of each recipe, from one question', async () => {
    const gears = recipe(
      'gears',
      ['WANTED', 'QUEUED', 'STARTED', 'JOINED', 'DRAINING', 'ENDED', 'LOST'],
      { pausedBy: 'anna', failed: { count: 4 }, hostHours: 1.5, reservedHostHours: 8 },
      400,
    );
    const belts = recipe('belts', [], { isReachable: false });
    const { values, asked } = await measure([gears, belts]);
    expect(values).toEqual({
      hosts_instances_coming: { gears: 9, belts: 0 },
      hosts_ran_seconds: { gears: 5400, belts: 0 },
      hosts_reserved_seconds: { gears: 28_800, belts: 0 },
      hosts_bound_seconds: { gears: 1_440_000 },
      hosts_wall_time_seconds: { gears: 7200, belts: 7200 },
      hosts_failures_in_a_row: { gears: 4, belts: 0 },
      hosts_paused: { gears: 1, belts: 0 },
      hosts_manager_up: { gears: 1, belts: 0 },
    });
    expect(asked).toBe(1);
  });

  it('count open allocations by state, also where there is none', async () => {
    const { samples } = await measure([recipe('gears', ['QUEUED', 'QUEUED', 'JOINED', 'ENDED'])]);
    expect(samples.map(({ labels: [, state], value }) => [state, value])).toEqual([
      ['WANTED', 0],
      ['SUBMITTED', 0],
      ['QUEUED', 2],
      ['STARTED', 0],
      ['JOINED', 1],
      ['DRAINING', 0],
    ]);
    expect(new Set(samples.map(({ labels: [name] }) => name))).toEqual(new Set(['gears']));
  });
});
