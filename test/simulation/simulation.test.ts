import { describe, expect, it } from 'vitest';
import { simulate } from './simulation.js';
import { Summary } from './summary.js';

const SEEDS_A_TEST = 20;
const TESTS = 8;
const TIME_LIMIT_MS = 120_000;

describe('the simulation', () => {
  it.each(Array.from({ length: TESTS }, (_, index) => 1 + index * SEEDS_A_TEST))(
    `holds every invariant, with ${SEEDS_A_TEST} seeds from %i on`,
    async (from) => {
      const summary = new Summary();
      for (let seed = from; seed < from + SEEDS_A_TEST; seed++) {
        const outcome = await simulate({ seed });
        summary.add(outcome);
        expect(outcome.violations, summary.describe(outcome)).toEqual([]);
      }
    },
    TIME_LIMIT_MS,
  );

  it('runs the same way for the same seed, with or without a trace', async () => {
    const lines: string[] = [];
    const first = await simulate({ seed: 7 });
    const second = await simulate({ seed: 7, onTrace: (line) => lines.push(line) });
    expect(second).toEqual(first);
    expect(lines.some((line) => line.includes('FAULT'))).toBe(true);
    expect((await simulate({ seed: 8 })).digest).not.toBe(first.digest);
  });
});
