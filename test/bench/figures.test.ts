import { describe, expect, it } from 'vitest';
import { figuresOf, quantile, verdictOn, withinLimit } from './figures.js';
import { tableOf } from './table.js';

const sample = (name: string, value: number) => ({ name, value, unit: 'ms', limit: 5 }) as const;

describe('figures', () => {
  it('are medians with the spread of the runs', () => {
    const [a, b] = figuresOf([
      [sample('a', 3), sample('b', 9)],
      [sample('a', 1), sample('b', 4)],
      [sample('a', 2), sample('b', 8)],
    ]);
    expect(a).toEqual({ name: 'a', unit: 'ms', median: 2, lowest: 1, highest: 3, limit: 5 });
    expect(b).toMatchObject({ median: 8, lowest: 4, highest: 9 });
    expect([a, b].map((figure) => figure && withinLimit(figure))).toEqual([true, false]);
  });

  it('are refused when a run lacks one', () => {
    expect(() => figuresOf([[sample('a', 1)], [sample('b', 1)]])).toThrow(
      'a was not measured once in every run',
    );
  });

  it('meet or miss targets where both are measured', () => {
    const figures = figuresOf([[sample('hub', 9), sample('peer', 5)]]);
    const target = { figure: 'hub', is: 'at least', value: 1.5 } as const;
    expect(verdictOn({ ...target, times: 'peer' }, figures)).toEqual({
      target: 'hub at least 1.5 times peer',
      measured: 9,
      wanted: 7.5,
      verdict: 'met',
    });
    expect(verdictOn({ ...target, is: 'at most' }, figures)).toMatchObject({
      wanted: 1.5,
      verdict: 'MISSED',
    });
    expect(verdictOn({ ...target, times: 'other' }, figures)).toMatchObject({
      measured: 9,
      wanted: null,
      verdict: 'NOT MEASURED',
    });
  });

  it('have quantiles of the unsorted values', () => {
    expect(quantile([5, 1, 3], 0.5)).toBe(3);
    expect(quantile([5, 1, 3], 0.99)).toBe(5);
  });

  it('are shown in a table, with those beyond their limit marked', () => {
    const figures = figuresOf([
      [sample('quick', 1.234), sample('slow one', 9), { name: 'n', value: 1, unit: '' }],
    ]);
    expect(tableOf(figures)).toBe(
      [
        'figure    median  unit  lowest  highest  limit',
        'quick       1.23  ms      1.23     1.23  < 5',
        'slow one    9.00  ms      9.00     9.00  < 5  BEYOND',
        'n           1.00          1.00     1.00',
      ].join('\n'),
    );
  });
});
