import { expect, it } from 'vitest';
import { filtersIn, hubFilterOf, NO_FILTERS, searchOf } from './filters.js';

it('come back from an address as they were', () => {
  const filters = {
    ...NO_FILTERS,
    status: ['RUNNING', 'FAILED'] as const,
    name: 'a&b=ü *',
    priority: 'HIGH',
    period: 'day' as const,
  };
  expect(filtersIn(searchOf(filters))).toEqual(filters);
  expect(searchOf(NO_FILTERS)).toBe('');
});

it('leave out what an address says wrongly', () => {
  expect(filtersIn('status=BROKEN,FAILED&priority=11&period=never&x=1')).toEqual({
    ...NO_FILTERS,
    status: ['FAILED'],
  });
});

it('find a text anywhere in the name, and take wildcards as they are', () => {
  expect(hubFilterOf({ ...NO_FILTERS, name: ' gear ' }, 0)).toEqual({ name: '*gear*' });
  expect(hubFilterOf({ ...NO_FILTERS, name: 'gear*' }, 0)).toEqual({ name: 'gear*' });
});

it('begin a period at a whole minute', () => {
  const nowMs = Date.parse('2026-11-21T06:53:42.123Z');
  expect(hubFilterOf({ ...NO_FILTERS, period: 'hour' }, nowMs)).toEqual({ from: '2026-11-21T05:53:00.000Z' });
});
