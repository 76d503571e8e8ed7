/** Hubs that join hubs, in a simulated world. */
import { describe, expect, it } from 'vitest';
import { SITES_BREAKAGES } from './sites-breakages.js';
import { simulateSites } from './sites-world.js';

const SEEDS_A_TEST = 25;
const TIME_LIMIT_MS = 300_000;
/** One of these seeds has to find each defect. */
const SEEDS = 60;

describe('worlds of hubs that join hubs', () => {
  it.each([1, 26])(
    'hold, from seed %d on',
    async (from) => {
      let [loans, hosts] = [0, 0];
      for (let seed = from; seed < from + SEEDS_A_TEST; seed++) {
        const outcome = await simulateSites({ seed });
        expect(outcome.violations, `seed ${seed}`).toEqual([]);
        loans += outcome.loans;
        hosts += outcome.hosts;
      }
      expect(loans).toBeGreaterThan(100);
      expect(hosts).toBeGreaterThan(5);
    },
    TIME_LIMIT_MS,
  );

  it('are the same for the same seed', async () => {
    const [first, again] = [await simulateSites({ seed: 3 }), await simulateSites({ seed: 3 })];
    expect(again.digest).toBe(first.digest);
  });
});

describe('worlds of hubs that join hubs find that', () => {
  it.each(SITES_BREAKAGES.map((breakage) => [breakage.name, breakage] as const))(
    '%s',
    async (_, breakage) => {
      const { fromSeed = 1 } = breakage;
      for (let seed = fromSeed; seed < fromSeed + SEEDS; seed++)
        if ((await simulateSites({ seed, breakage })).violations.length > 0) return;
      expect.fail(`${SEEDS} seeds have not found it`);
    },
    TIME_LIMIT_MS,
  );
});
