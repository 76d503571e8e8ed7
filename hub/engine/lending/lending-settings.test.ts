import { expect, it } from 'vitest';
import { isWithin } from './lending-settings.js';

const AT_NIGHT = { fromMinute: 20 * 60, toMinute: 6 * 60 };
const AT_NOON = { fromMinute: 12 * 60, toMinute: 13 * 60 };
const isOffered = (minute: number) => isWithin([AT_NIGHT, AT_NOON], minute);

it.each([
  ['of a day', [12 * 60, 13 * 60 - 1], [12 * 60 - 1, 13 * 60]],
  ['over midnight', [20 * 60, 24 * 60 - 1, 0, 6 * 60 - 1], [20 * 60 - 1, 6 * 60]],
])('hours %s begin with their first minute and end before their last', (_, within, outside) => {
  expect(within.map(isOffered)).toEqual(within.map(() => true));
  expect(outside.map(isOffered)).toEqual(outside.map(() => false));
});

it('instances are offered at any time without hours', () => {
  expect([0, 719, 1439].map((minute) => isWithin([], minute))).toEqual([true, true, true]);
});
