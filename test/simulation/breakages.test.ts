import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { BREAKAGES } from './breakages.js';
import { simulate } from './simulation.js';

/** One of these seeds has to find each defect. */
const SEEDS = 450;
const TIME_LIMIT_MS = 300_000;

describe('the simulation finds that', () => {
  it.each(BREAKAGES.map((breakage) => [breakage.name, breakage] as const))(
    '%s',
    async (_, breakage) => {
      for (let tried = 0; tried < SEEDS; tried++) {
        const seed = ((breakage.seed - 1 + tried) % SEEDS) + 1;
        if ((await simulate({ seed, breakage })).violations.length === 0) continue;
        if (tried > 0)
          console.warn(`"${breakage.name}": seed ${breakage.seed} no longer finds it, ${seed} does`);
        return;
      }
      expect.fail(`${SEEDS} seeds have not found it`);
    },
    TIME_LIMIT_MS,
  );
});

it('the page on reliability names every defect that is tried, with the seed that finds it', async () => {
  const page = await readFile(new URL('../../packages/docs/reliability.md', import.meta.url), 'utf8');
  const named = [...page.matchAll(/^- (.+) [(]seed ([0-9]+): [a-z ]+[)]$/gm)].map(([, name, seed]) => [
    name,
    Number(seed),
  ]);
  expect(named).toEqual(BREAKAGES.map(({ name, seed }) => [name, seed]));
});
