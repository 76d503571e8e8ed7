import { describe, expect, it } from 'vitest';
import { judgeCount } from './measurements.js';

/** Judges a table whose rows rise to `last`. */
function judged(table: string, last: number) {
  const samples = Array.from({ length: 20 }, (_, at) => ({
    life: 'the run',
    atS: at * 30,
    value: (last * (at + 1)) / 20,
  }));
  return judgeCount({ name: `rows of ${table}`, tolerance: { absolute: 5, share: 0.05 }, samples }).verdict;
}

describe('a table whose rows are kept by their number', () => {
  it('may have rows up to its limit, and no more', () => {
    expect(judged('task_change', 200_000)).toBe('keeps the last 262,144 changes');
    expect(judged('task_change', 400_000)).toBe('GROWS');
  });
});

it('any other table must not grow', () => {
  expect(judged('task', 200)).toBe('GROWS');
});
