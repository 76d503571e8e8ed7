import { describe, expect, it } from 'vitest';
import { equalLevels, levelCount, levelsFaults, levelValues } from './levels.js';
import type { StudyVariable } from './variables.js';

function variable(rest: Partial<StudyVariable> = {}): StudyVariable {
  return { name: 'x', kind: 'NUMBER', unit: null, lower: null, upper: null, scale: 'LINEAR', ...rest };
}

function stepped(from: number, to: number, step: number) {
  return { variable: 'x', from, to, step };
}

function spaced(from: number, to: number, count: number) {
  return { variable: 'x', from, to, count };
}

describe('stepped levels', () => {
  it.each([
    ['end at `to` if it is a level', stepped(0, 2, 0.5), [0, 0.5, 1, 1.5, 2]],
    ['end before `to` otherwise', stepped(0, 1.9, 0.5), [0, 0.5, 1, 1.5]],
    ['end at `to` but for rounding', stepped(0, 0.3, 0.1), [0, 0.1, 0.2, 0.3]],
    ['end at `to` far from 0', stepped(1e9, 1e9 + 0.3, 0.1), [1e9, 1e9 + 0.1, 1e9 + 0.2, 1e9 + 0.3]],
    ['end before `to` that is only near', stepped(0, 2.999_999, 1), [0, 1, 2]],
    ['lead down', stepped(1, -1, -1), [1, 0, -1]],
    ['are one for equal ends', stepped(4, 4, -0.1), [4]],
    ['are one for a step beyond `to`', stepped(0, 1, 2), [0]],
  ])('%s', (_, levels, values) => {
    expect(levelValues(variable(), levels)).toEqual(values);
    expect(levelCount(levels)).toBe(values.length);
  });

  it('do not accumulate errors', () => {
    const values = levelValues(variable(), stepped(0, 1000, 0.1));
    expect(values).toHaveLength(10_001);
    expect(values.slice(0, -1).every((value, index) => value === index * 0.1)).toBe(true);
    expect(values.at(-1)).toBe(1000);
  });

  it('are counted without computing them', () => {
    expect(levelCount(stepped(0, 1e12, 1))).toBe(1e12 + 1);
    expect(levelCount(stepped(0, 1e300, 1e-300))).toBe(Infinity);
  });
});

describe('spaced levels', () => {
  it.each([
    ['equal distances', {}, spaced(0, 1, 11), [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]],
    ['equal ratios', { scale: 'LOGARITHMIC' }, spaced(1e-3, 1000, 7), [0.001, 0.01, 0.1, 1, 10, 100, 1000]],
    ['one level', {}, spaced(3, 5, 1), [3]],
    ['rounded integers', { kind: 'INTEGER' }, spaced(0, 10, 5), [0, 3, 5, 8, 10]],
  ] as const)('have %s', (_, rest, levels, values) =>
    expect(levelValues(variable(rest), levels)).toEqual(values),
  );

  it('never leave their ends', () => {
    const values = levelValues(variable({ scale: 'LOGARITHMIC' }), spaced(0.1, 0.7, 1000)) as number[];
    expect(values.every((value) => value >= 0.1 && value <= 0.7)).toBe(true);
    expect([values.at(0), values.at(-1)]).toEqual([0.1, 0.7]);
  });
});

describe('levels are refused', () => {
  it.each([[1], [0.5], [Number.MIN_VALUE]])('not for a beginning of %d on a logarithmic scale', (from) => {
    const faults = levelsFaults([variable({ scale: 'LOGARITHMIC' })], [spaced(from, 1, 3)]);
    expect([...faults]).toEqual([]);
  });

  it.each([
    ['a step of 0', {}, stepped(0, 1, 0), 'step', 'must be a finite number other than 0'],
    [
      'a step that is no number',
      {},
      stepped(0, 1, Number.NaN),
      'step',
      'must be a finite number other than 0',
    ],
    ['a step down', {}, stepped(0, 1, -1), 'step', 'must be greater than 0 to lead from 0 to 1'],
    ['a step up', {}, stepped(1, 0, 1), 'step', 'must be less than 0 to lead from 1 to 0'],
    [
      'a fraction as step of an INTEGER',
      { kind: 'INTEGER' },
      stepped(0, 1, 0.5),
      'step',
      'must be a whole number, as x is an INTEGER',
    ],
    ['ends too far apart', {}, stepped(-1e308, 1e308, 1e300), 'to', 'must be closer to -1e+308'],
    ['spaced ends too far apart', {}, spaced(-1e308, 1e308, 2), 'to', 'must be closer to -1e+308'],
    ['reversed ends', {}, spaced(2, 1, 3), 'to', 'must be at least 2, which the levels begin with'],
    ['no count', {}, spaced(0, 1, 0), 'count', 'must be a whole number of at least 1'],
    ['a fraction as count', {}, spaced(0, 1, 2.5), 'count', 'must be a whole number of at least 1'],
    [
      'a logarithm of 0',
      { scale: 'LOGARITHMIC' },
      spaced(0, 1, 3),
      'from',
      'must be greater than 0 on a logarithmic scale',
    ],
    [
      'a beginning below the bounds',
      { lower: 1 },
      spaced(0, 5, 3),
      'from',
      'must be at least 1, the lower bound of x',
    ],
    [
      'an end above the bounds',
      { upper: 4 },
      stepped(0, 5, 1),
      'to',
      'must be at most 4, the upper bound of x',
    ],
    ['no values', {}, { variable: 'x', values: [] }, 'values', 'must have at least one value'],
    [
      'a value above the bounds',
      { upper: 4 },
      { variable: 'x', values: [1, 5] },
      'values[1]',
      'must be at most 4, the upper bound of x',
    ],
  ] as const)('for %s', (_, rest, levels, field, what) =>
    expect([...levelsFaults([variable(rest)], [levels])]).toEqual([
      { where: `plan.levels[0].${field}`, what },
    ]),
  );

  it('for steps of a text', () =>
    expect([...levelsFaults([variable({ kind: 'TEXT' })], [stepped(0, 1, 1)])]).toEqual([
      { where: 'plan.levels[0]', what: 'must have values one by one, as x is a TEXT' },
    ]));

  it('for an unknown variable, and one that comes twice', () =>
    expect([
      ...levelsFaults([variable()], [spaced(0, 1, 2), { variable: 'y', values: [1] }, spaced(0, 1, 2)]),
    ]).toEqual([
      { where: 'plan.levels[1].variable', what: 'names "y", which is no variable of the study (x)' },
      { where: 'plan.levels[2].variable', what: 'is given more than once' },
    ]));

  it.each([
    ['values', {}, { variable: 'x', values: [1, 2, 1] }, 'values[2]', 'is given more than once'],
    [
      'steps below the precision',
      {},
      stepped(1e16, 1e16 + 4, 1),
      'step',
      'must be larger: 10000000000000000 is a level twice',
    ],
    ['equal ends', {}, spaced(1, 1, 2), 'count', 'must be smaller: 1 is a level twice'],
    ['integers', { kind: 'INTEGER' }, spaced(0, 2, 4), 'count', 'must be smaller: 1 is a level twice'],
  ] as const)('if they are equal: %s', (_, rest, levels, field, what) =>
    expect([...equalLevels(variable(rest), levels, 'plan.levels[0]')]).toEqual([
      { where: `plan.levels[0].${field}`, what },
    ]),
  );
});
