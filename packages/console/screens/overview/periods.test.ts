import type { api } from '@workbench-hub/client';
import { expect, it } from 'vitest';
import { bucketsOf, periodsWith } from './periods.js';

function period(minute: number, part: Partial<api.StatisticsPeriod>): api.StatisticsPeriod {
  const start = `2026-11-21T06:${String(minute).padStart(2, '0')}:00.000+01:00`;
  return { start, created: 0, started: 0, finished: 0, failed: 0, canceled: 0, lost: 0, ...part };
}

it('adds counts, and weighs means by what they are means of', () => {
  const buckets = bucketsOf(
    [
      period(0, { created: 3, started: 1, meanWait: 10, finished: 1, meanRun: 4 }),
      period(1, { created: 1, started: 3, meanWait: 2, finished: 1, failed: 2, meanRun: 8 }),
      period(2, {}),
      period(3, { canceled: 1, lost: 2 }),
    ],
    2 * 60_000,
  );
  expect(buckets).toEqual([
    {
      startMs: Date.parse('2026-11-21T05:00:00Z'),
      created: 4,
      finished: 2,
      failed: 2,
      canceled: 0,
      lost: 0,
      waitS: 4,
      runS: 7,
    },
    {
      startMs: Date.parse('2026-11-21T05:02:00Z'),
      created: 0,
      finished: 0,
      failed: 0,
      canceled: 1,
      lost: 2,
      waitS: undefined,
      runS: undefined,
    },
  ]);
});

it('is empty without periods', () => {
  expect(bucketsOf([], 60_000)).toEqual([]);
});

it('takes newer responses in place of older ones', () => {
  const old = [period(0, { created: 1 }), period(1, { created: 2 })];
  const newer = [period(1, { created: 5 }), period(2, { created: 1 })];
  expect(periodsWith(old, newer).map(({ created }) => created)).toEqual([1, 5, 1]);
  expect(periodsWith(old, [])).toBe(old);
});
