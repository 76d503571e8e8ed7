import { describe, expect, it } from 'vitest';
import { isLogarithmicAtFirst, logarithmicTicks, niceTicks, scaleOf } from './scale.js';

describe('ticks', () => {
  it.each([
    [0, 1, 5, [0, 0.2, 0.4, 0.6, 0.8, 1]],
    [0, 10, 5, [0, 2, 4, 6, 8, 10]],
    [-3, 3, 4, [-2, 0, 2]],
    [450, 3050, 6, [500, 1000, 1500, 2000, 2500, 3000]],
    [0.1, 0.35, 5, [0.1, 0.15, 0.2, 0.25, 0.3, 0.35]],
    [1e-9, 3e-9, 2, [1e-9, 2e-9, 3e-9]],
    [0, 7e21, 3, [0, 5e21]],
    [5, 5, 4, []],
  ])('are 1, 2 or 5 times a power of ten from %d to %d', (from, to, count, expected) => {
    expect(niceTicks(from, to, count)).toEqual(expected);
  });

  it.each([
    [0.5, 2e4, 6, [1, 10, 100, 1000, 10_000]],
    [3, 40, 6, [5, 10, 20]],
    [1e-12, 1e12, 6, [1e-10, 1e-5, 1, 1e5, 1e10]],
    [11, 14, 4, [11, 12, 13, 14]],
  ])('are decades on a logarithmic axis from %d to %d', (from, to, count, expected) => {
    expect(logarithmicTicks(from, to, count)).toEqual(expected);
  });
});

it.each([
  [[1, 1000], true],
  [[1, 100], false],
  [[0, 1000], false],
  [[-1, 1000], false],
  [[], false],
])('is logarithmic at first for %j: %s', (numbers, expected) => {
  expect(isLogarithmicAtFirst(numbers)).toBe(expected);
});

describe.each([true, false])('a scale, logarithmic: %s', (isLogarithmic) => {
  it.each([[[1, 10, 1000]], [[5, 5]], [[7]]])('has a place for each of %j', (numbers) => {
    const scale = scaleOf(numbers, isLogarithmic, 5);
    const places = numbers.map((number) => scale.place(number));
    for (const place of places) {
      expect(place).toBeGreaterThan(0);
      expect(place).toBeLessThan(1);
    }
    expect(places).toEqual(places.toSorted((a, b) => a - b));
  });

  it('exists without numbers', () => {
    expect(scaleOf([], isLogarithmic, 5).ticks.length).toBeGreaterThan(0);
  });
});

it('has the middle of decades in the middle', () => {
  expect(scaleOf([1, 100], true, 5).place(10)).toBeCloseTo(0.5);
  expect(scaleOf([0, 100], false, 5).place(50)).toBeCloseTo(0.5);
});
