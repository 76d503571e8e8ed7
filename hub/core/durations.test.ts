import { describe, expect, it } from 'vitest';
import { DurationCounts, durationClass, GREATEST_ERROR, percentileMs } from './durations.js';

/** Its multiples, without their whole parts, are spread evenly. */
const GOLDEN_RATIO = 1.618_033_988_749_895;

function countsOf(durationsMs: readonly number[]): DurationCounts {
  const counts = new DurationCounts();
  for (const ms of durationsMs) counts.add(ms);
  return counts;
}

/** The duration itself that a percentile estimates. */
function exactMs(durationsMs: readonly number[], percent: number): number | undefined {
  return durationsMs.toSorted((a, b) => a - b)[Math.ceil((percent * durationsMs.length) / 100) - 1];
}

describe('the class of a duration', () => {
  it.each([
    [0, 0],
    [0.9, 0],
    [1, 1],
    [2, 9],
    [1000, 80],
    [1024, 81],
    [3_600_000, 175],
    [2 ** 40 - 1, 320],
    [2 ** 40, 321],
    [Number.MAX_SAFE_INTEGER, 321],
  ])('of %d ms is %i', (ms, expected) => {
    expect(durationClass(ms)).toBe(expected);
  });

  it('has no two durations that differ by more than the greatest error', () => {
    const shortest = new Map<number, number>();
    for (let ms = 1; ms < 200_000; ms++) {
      const number = durationClass(ms);
      if (!shortest.has(number)) shortest.set(number, ms);
      expect(ms).toBeLessThan((shortest.get(number) ?? 0) * (1 + GREATEST_ERROR));
    }
    expect(shortest.size).toBeLessThan(140);
  });
});

describe('a percentile', () => {
  it('of no durations is none', () => {
    expect(percentileMs([], 95)).toBeUndefined();
  });

  it('is exact for one duration, and for equal ones', () => {
    expect(percentileMs(countsOf([0]).classes, 95)).toBe(0);
    expect(percentileMs(countsOf([10_001]).classes, 95)).toBe(10_001);
    expect(percentileMs(countsOf(Array<number>(300).fill(7777)).classes, 95)).toBe(7777);
  });

  it('is the duration that 95 of 100 do not exceed', () => {
    const durations = [...Array<number>(95).fill(100), ...Array<number>(5).fill(60_000)];
    expect(percentileMs(countsOf(durations).classes, 95)).toBe(100);
    expect(percentileMs(countsOf([...durations, 60_000]).classes, 95)).toBe(60_000);
  });

  it('of few durations is the longest, and no shorter than their mean', () => {
    expect(percentileMs(countsOf([1, 100, 101, 5000]).classes, 95)).toBe(5000);
    expect(percentileMs(countsOf([100, 101]).classes, 95)).toBe(100.5);
  });

  it('differs from the duration by less than the greatest error', () => {
    for (let number = 1; number <= 200; number++) {
      // From a millisecond to more than a day, spread over a logarithmic scale.
      const durations = Array.from({ length: number }, (_, at) =>
        Math.floor(Math.exp(((at * number * GOLDEN_RATIO) % 1) * 19)),
      );
      for (const percent of [50, 95, 100]) {
        const exact = exactMs(durations, percent) ?? 0;
        const estimated = percentileMs(countsOf(durations).classes, percent) ?? 0;
        expect(Math.abs(estimated / exact - 1)).toBeLessThan(GREATEST_ERROR);
      }
    }
  });

  it('of counts that were added up is that of all durations', () => {
    const first = [10, 20, 30_000];
    const second = [15, 20, 40_000, 90_000];
    const sum = countsOf(first);
    sum.addAll(countsOf(second).classes);
    expect(sum.classes).toEqual(countsOf([...first, ...second]).classes);
    expect(sum.classes.map(({ class: number }) => number)).toEqual(
      sum.classes.map(({ class: number }) => number).toSorted((a, b) => a - b),
    );
  });
});
