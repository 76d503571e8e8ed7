/** Worlds with one to five hubs on one database server. */
import { describe, expect, it } from 'vitest';
import { simulate } from './simulation.js';
import { Summary } from './summary.js';

const SEEDS_A_TEST = 4;
const TESTS = 3;
/** Steps of all these worlds, at least. */
const LEAST_STEPS = 100_000;
const TIME_LIMIT_MS = 300_000;

describe('the simulation of several hubs', () => {
  let steps = 0;

  it.each(Array.from({ length: TESTS }, (_, index) => 1 + index * SEEDS_A_TEST))(
    `holds every invariant, with ${SEEDS_A_TEST} seeds from %i on`,
    async (from) => {
      const summary = new Summary(undefined, undefined, 'SEVERAL');
      for (let seed = from; seed < from + SEEDS_A_TEST; seed++) {
        const outcome = await simulate({ seed, hubs: 'SEVERAL' });
        steps += outcome.steps;
        summary.add(outcome);
        expect(outcome.violations, summary.describe(outcome)).toEqual([]);
      }
    },
    TIME_LIMIT_MS,
  );

  it(`has at least ${LEAST_STEPS} steps`, () => {
    expect(steps).toBeGreaterThan(LEAST_STEPS);
  });

  it('runs the same way for the same seed', async () => {
    const first = await simulate({ seed: 7, hubs: 3 });
    expect(await simulate({ seed: 7, hubs: 3 })).toEqual(first);
  });
});
