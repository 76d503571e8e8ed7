import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { BREAKAGES } from './breakages.js';
import { simulate } from './simulation.js';

/** Within so many seeds each defect has to be found. */
const SEEDS = 450;
const TIME_LIMIT_MS = 300_000;

describe('the simulated world finds out when', () => {
  it.each(BREAKAGES.map((breakage) => [breakage.name, breakage] as const))(
    '%s',
    async (_, breakage) => {
      for (let seed = 1; seed <= SEEDS; seed++) {
        if ((await simulate({ seed, breakage })).violations.length > 0) return;
      }
      expect.fail(`${SEEDS} seeds have not found it`);
    },
    TIME_LIMIT_MS,
  );
});

it('the page on reliability names every defect that is tried', async () => {
  const page = await readFile(new URL('../../packages/docs/reliability.md', import.meta.url), 'utf8');
  const named = [...page.matchAll(/^- (.+) \(seed \d+: [a-z ]+\)$/gm)].map(([, name]) => name);
  expect(named).toEqual(BREAKAGES.map(({ name }) => name));
});
