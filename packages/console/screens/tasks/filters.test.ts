import { expect, it } from 'vitest';
import {
  ALL_POINTS,
  filtersIn,
  hubFilterOf,
  isUnfiltered,
  localText,
  NO_FILTERS,
  searchOf,
  timestampOf,
} from './filters.js';

const ALL = { ...NO_FILTERS, study: ALL_POINTS };
const STUDY = '01a20a57-0ca6-73e8-8d02-c45ca66b7bbe';

it('come back from an address as they were', () => {
  const filters = {
    ...NO_FILTERS,
    status: ['RUNNING', 'FAILED'] as const,
    name: 'a&b=ü *',
    note: 'softer\nbearing',
    priority: 'HIGH',
    period: 'day' as const,
  };
  expect(filtersIn(searchOf(filters))).toEqual(filters);
  expect(searchOf(NO_FILTERS)).toBe('');
  for (const study of [ALL_POINTS, STUDY])
    expect(filtersIn(`study=${study}`)).toEqual({ ...NO_FILTERS, study });
});

it('reach from one time to another, whose minute belongs to it', () => {
  const filters = {
    ...ALL,
    period: 'between' as const,
    from: '2026-11-20T08:00Z',
    to: '2026-11-20T09:30Z',
  };
  expect(filtersIn(searchOf(filters))).toEqual(filters);
  expect(hubFilterOf(filters, 0)).toEqual({
    from: '2026-11-20T08:00:00.000Z',
    to: '2026-11-20T09:31:00.000Z',
  });
  expect(hubFilterOf({ ...filters, from: '' }, 0)).toEqual({ to: '2026-11-20T09:31:00.000Z' });
  expect(filtersIn('period=between&from=yesterday')).toEqual({ ...NO_FILTERS, period: 'between' });
});

it('are typed in the zone of the reader', () => {
  expect(timestampOf(localText('2026-11-20T08:00Z'))).toBe('2026-11-20T08:00Z');
  expect(localText('')).toBe('');
  expect(timestampOf('2026-11-')).toBe('');
});

it('leave out what an address says wrongly', () => {
  expect(filtersIn('status=BROKEN,FAILED&priority=11&period=never&study=none&x=1')).toEqual({
    ...NO_FILTERS,
    status: ['FAILED'],
  });
});

it('find a text anywhere in the name or the note, and take wildcards as they are', () => {
  expect(hubFilterOf({ ...ALL, note: ' Bearing ' }, 0)).toEqual({ note: '*Bearing*' });
  expect(hubFilterOf({ ...ALL, note: 'second*' }, 0)).toEqual({ note: 'second*' });
  expect(hubFilterOf({ ...ALL, name: ' gear ' }, 0)).toEqual({ name: '*gear*' });
  expect(hubFilterOf({ ...ALL, name: 'gear*' }, 0)).toEqual({ name: 'gear*' });
});

it('find a task by its id, or the end of it that lists show', () => {
  const id = '01A20a57-0ca6-73e8-8d02-c45ca66b7bbe';
  expect(hubFilterOf({ ...ALL, name: ` ${id}` }, 0)).toEqual({ id: `*${id.toLowerCase()}` });
  expect(hubFilterOf({ ...ALL, name: 'A66B7bbe' }, 0)).toEqual({ id: '*a66b7bbe' });
  expect(hubFilterOf({ ...ALL, name: 'a66b7bb' }, 0)).toEqual({ name: '*a66b7bb*' });
});

it('begin a period at a whole minute', () => {
  const nowMs = Date.parse('2026-11-21T06:53:42.123Z');
  expect(hubFilterOf({ ...ALL, period: 'hour' }, nowMs)).toEqual({ from: '2026-11-21T05:53:00.000Z' });
});

it('leave tasks of studies out, unless they are asked for or one is looked for by its id', () => {
  expect(hubFilterOf(NO_FILTERS, 0)).toEqual({ study: 'none' });
  expect(hubFilterOf({ ...NO_FILTERS, name: 'gear' }, 0)).toEqual({ name: '*gear*', study: 'none' });
  expect(hubFilterOf(ALL, 0)).toEqual({});
  expect(hubFilterOf({ ...NO_FILTERS, study: STUDY }, 0)).toEqual({ study: STUDY });
  expect(hubFilterOf({ ...NO_FILTERS, name: STUDY }, 0)).toEqual({ id: `*${STUDY}` });
});

it('are none although tasks of studies are listed, but not if those of one study are', () => {
  expect([NO_FILTERS, ALL].every(isUnfiltered)).toBe(true);
  expect(isUnfiltered({ ...NO_FILTERS, study: STUDY })).toBe(false);
  expect(isUnfiltered({ ...ALL, creator: 'anna' })).toBe(false);
});
