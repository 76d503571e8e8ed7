import type { api } from '@workbench-hub/client';
import { expect, it } from 'vitest';
import { periodsWith } from './periods.js';

function period(minute: number, created: number): api.StatisticsPeriod {
  const start = `2026-11-21T06:${String(minute).padStart(2, '0')}:00.000+01:00`;
  return { start, created, started: 0, finished: 0, failed: 0, canceled: 0, lost: 0 };
}

it('takes newer responses in place of older ones', () => {
  const old = [period(0, 1), period(1, 2)];
  const newer = [period(1, 5), period(2, 1)];
  expect(periodsWith(old, newer).map(({ created }) => created)).toEqual([1, 5, 1]);
  expect(periodsWith(old, [])).toBe(old);
});
