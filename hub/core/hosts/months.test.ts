import { expect, it } from 'vitest';
import { latestMonths } from './months.js';

it('months are those of the local time, the latest first, without a gap, over the turn of the year', () => {
  const months = latestMonths(new Date(2026, 0, 31, 23, 59).getTime(), 3);
  expect(months.map(({ month }) => month)).toEqual(['2026-01', '2025-12', '2025-11']);
  expect(months[0]?.untilMs).toBe(new Date(2026, 1, 1).getTime());
  expect(months.slice(1).map(({ untilMs }) => untilMs)).toEqual(
    months.slice(0, -1).map(({ fromMs }) => fromMs),
  );
});
