/** Worlds with one to five hubs on one database server. */
import { describe, expect, it } from 'vitest';
import { CLUSTER_FAULTS } from './cluster-faults.js';
import { simulate } from './simulation.js';
import { Summary } from './summary.js';

const SEEDS_A_TEST = 4;
const TESTS = 3;
/** Steps of all these worlds, at least. */
const LEAST_STEPS = 100_000;
const TIME_LIMIT_MS = 300_000;

/** Kinds of faults that several hubs add, by the row of the page on reliability that names them. */
const FAULTS = {
  hubs: ['hub halted', 'scheduling hub halted', 'scheduling hub killed', 'all hubs killed'],
  'hub and database': ['hub cut off from the database', 'pool exhausted', 'signals lost'],
  'agent and hub': ['agent cut off from a hub'],
  'a whole site': ['site without power'],
};

describe('the simulation of several hubs', () => {
  let steps = 0;
  const met = new Set<string>();

  it.each(Array.from({ length: TESTS }, (_, index) => 1 + index * SEEDS_A_TEST))(
    `holds every invariant, with ${SEEDS_A_TEST} seeds from %i on`,
    async (from) => {
      const summary = new Summary(undefined, undefined, 'SEVERAL');
      for (let seed = from; seed < from + SEEDS_A_TEST; seed++) {
        const outcome = await simulate({ seed, hubs: 'SEVERAL' });
        steps += outcome.steps;
        summary.add(outcome);
        for (const kind of outcome.faults.keys()) met.add(kind);
        expect(outcome.violations, summary.describe(outcome)).toEqual([]);
      }
    },
    TIME_LIMIT_MS,
  );

  it(`has at least ${LEAST_STEPS} steps`, () => {
    expect(steps).toBeGreaterThan(LEAST_STEPS);
  });

  it('has the faults that the page names, and meets most of them', () => {
    const named = Object.values(FAULTS).flat();
    expect(CLUSTER_FAULTS.map(({ kind }) => kind).sort()).toEqual([...named].sort());
    // The worlds of this test are too few for all.
    expect(named.filter((kind) => met.has(kind)).length).toBeGreaterThan(named.length / 2);
  });

  it('runs the same way for the same seed', async () => {
    const first = await simulate({ seed: 7, hubs: 3 });
    expect(await simulate({ seed: 7, hubs: 3 })).toEqual(first);
  });
});
