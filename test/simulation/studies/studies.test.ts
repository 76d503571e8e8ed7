/** Studies in the simulated world. */
import { describe, expect, it } from 'vitest';
import { simulate } from '../simulation.js';
import { STUDY_BREAKAGES } from './study-breakages.js';

const TIME_LIMIT_MS = 300_000;
/** One of these seeds has to find each defect. */
const SEEDS = 60;

describe('worlds with studies', () => {
  it.each([
    ['on a disk', { store: 'DISK' }, [1, 9]],
    ['on a database server', { store: 'SERVER' }, [1, 3]],
    ['with several hubs', { hubs: 'SEVERAL' }, [6, 7]],
  ] as const)(
    'hold, %s',
    async (_, place, [first, last]) => {
      let [points, bundles] = [0, 0];
      for (let seed = first; seed <= last; seed++) {
        const outcome = await simulate({ seed, hasStudies: true, ...place });
        expect(outcome.violations, `seed ${seed}`).toEqual([]);
        points += outcome.points;
        bundles += outcome.bundles;
      }
      expect(points).toBeGreaterThan(10);
      expect(bundles).toBeGreaterThan(0);
    },
    TIME_LIMIT_MS,
  );

  it('are the same for the same seed', async () => {
    const [first, again] = [
      await simulate({ seed: 4, hasStudies: true }),
      await simulate({ seed: 4, hasStudies: true }),
    ];
    expect(again.digest).toBe(first.digest);
  });
});

describe('worlds with studies find that', () => {
  it.each(STUDY_BREAKAGES.map((breakage) => [breakage.name, breakage] as const))(
    '%s',
    async (_, breakage) => {
      for (let tried = 0; tried < SEEDS; tried++) {
        const seed = ((breakage.seed - 1 + tried) % SEEDS) + 1;
        const { violations } = await simulate({ seed, breakage, hasStudies: true });
        if (violations.length === 0) continue;
        if (tried > 0)
          console.warn(`"${breakage.name}": seed ${breakage.seed} no longer finds it, ${seed} does`);
        return;
      }
      expect.fail(`${SEEDS} seeds have not found it`);
    },
    TIME_LIMIT_MS,
  );
});
