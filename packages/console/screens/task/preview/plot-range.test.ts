import { expect, it } from 'vitest';
import { rowsWithin, typedNumber, WHOLE } from './plot-range.js';

const ACROSS = Float64Array.from([0, 1, 1, 2, 5]);

it('has the rows from the lowest to the highest value, both included', () => {
  expect(rowsWithin(ACROSS, WHOLE)).toEqual([0, 5]);
  expect(rowsWithin(ACROSS, { from: 1, to: 2 })).toEqual([1, 4]);
  expect(rowsWithin(ACROSS, { from: 1.5, to: undefined })).toEqual([3, 5]);
  expect(rowsWithin(ACROSS, { from: 3, to: 4 })).toEqual([4, 4]);
  expect(rowsWithin(ACROSS, { from: 9, to: 1 })).toEqual([5, 5]);
});

it('takes numbers with a point or a comma', () => {
  expect(typedNumber(' 1.5 ')).toBe(1.5);
  expect(typedNumber('1,5')).toBe(1.5);
  expect(typedNumber('')).toBeUndefined();
  expect(typedNumber('half')).toBeUndefined();
});
