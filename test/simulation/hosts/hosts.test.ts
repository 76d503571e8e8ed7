/** Hosts that come and go, in a simulated world. */
import { describe, expect, it } from 'vitest';
import { HOSTS_BREAKAGES } from './hosts-breakages.js';
import { simulateHosts } from './hosts-world.js';

const SEEDS_A_TEST = 10;
const TIME_LIMIT_MS = 300_000;
/** One of these seeds has to find each defect. */
const SEEDS = 60;

describe('worlds of hosts that come and go', () => {
  it.each([1, 11, 21, 31, 41, 51])(
    'hold, from seed %d on',
    async (from) => {
      let jobs = 0;
      for (let seed = from; seed < from + SEEDS_A_TEST; seed++) {
        const outcome = await simulateHosts({ seed });
        expect(outcome.violations, `seed ${seed}`).toEqual([]);
        jobs += outcome.jobs;
      }
      expect(jobs).toBeGreaterThan(30);
    },
    TIME_LIMIT_MS,
  );

  it('are the same for the same seed', async () => {
    const [first, again] = [await simulateHosts({ seed: 3 }), await simulateHosts({ seed: 3 })];
    expect(again.digest).toBe(first.digest);
  });
});

describe('worlds of hosts that come and go find that', () => {
  it.each(HOSTS_BREAKAGES.map((breakage) => [breakage.name, breakage] as const))(
    '%s',
    async (_, breakage) => {
      const { fromSeed = 1 } = breakage;
      for (let seed = fromSeed; seed < fromSeed + SEEDS; seed++)
        if ((await simulateHosts({ seed, breakage })).violations.length > 0) return;
      expect.fail(`${SEEDS} seeds have not found it`);
    },
    TIME_LIMIT_MS,
  );
});
