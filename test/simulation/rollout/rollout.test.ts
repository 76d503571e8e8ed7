/** Agents that their hub updates, in a simulated world. */
import { describe, expect, it } from 'vitest';
import { ROLLOUT_BREAKAGES } from './rollout-breakages.js';
import { simulateRollout } from './rollout-world.js';

/** Enough for each kind of fault and of bad version. */
const SEEDS = 30;
/** One of these seeds has to find each defect. */
const SEARCHED = 60;
const TIME_LIMIT_MS = 300_000;

describe('worlds of agents that their hub updates', () => {
  it(
    'hold',
    async () => {
      let updated = 0;
      const faults = new Set<string>();
      for (let seed = 1; seed <= SEEDS; seed++) {
        const outcome = await simulateRollout({ seed });
        expect(outcome.violations, `seed ${seed}`).toEqual([]);
        updated += outcome.updated;
        for (const kind of outcome.faults.keys()) faults.add(kind);
      }
      expect(updated).toBeGreaterThan(SEEDS / 2);
      expect(faults.size).toBeGreaterThan(7);
    },
    TIME_LIMIT_MS,
  );

  it('are the same for the same seed', async () => {
    const [first, again] = [await simulateRollout({ seed: 3 }), await simulateRollout({ seed: 3 })];
    expect(again.digest).toBe(first.digest);
  });
});

describe('worlds of agents that their hub updates find that', () => {
  it.each(ROLLOUT_BREAKAGES.map((breakage) => [breakage.name, breakage] as const))(
    '%s',
    async (_, breakage) => {
      for (let seed = 1; seed <= SEARCHED; seed++)
        if ((await simulateRollout({ seed, breakage })).violations.length > 0) return;
      expect.fail(`${SEARCHED} seeds have not found it`);
    },
    TIME_LIMIT_MS,
  );
});
