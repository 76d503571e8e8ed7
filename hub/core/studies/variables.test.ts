import { describe, expect, it } from 'vitest';
import { type StudyVariable, textOf, valueFault, variableFaults } from './variables.js';

function variable(rest: Partial<StudyVariable> = {}): StudyVariable {
  return { name: 'x', kind: 'NUMBER', unit: null, lower: null, upper: null, scale: 'LINEAR', ...rest };
}

describe('variables', () => {
  it.each([
    ['no bounds', {}],
    ['one bound', { lower: -5 }],
    ['equal bounds', { lower: 2, upper: 2 }],
    ['whole bounds', { kind: 'INTEGER', lower: -3, upper: 8 }],
    ['positive bounds on a logarithmic scale', { lower: 1e-3, upper: 10, scale: 'LOGARITHMIC' }],
    ['no bounds on a logarithmic scale', { scale: 'LOGARITHMIC' }],
    ['a text', { kind: 'TEXT' }],
  ] as const)('may have %s', (_, rest) => expect(variableFaults([variable(rest)])).toEqual([]));

  it.each([
    ['reversed bounds', { lower: 2, upper: 1 }, 'upper', 'must be at least 2, the lower bound'],
    ['infinite bounds', { lower: -Infinity }, 'lower', 'must be a finite number, as x is a NUMBER'],
    ['no number as bound', { upper: Number.NaN }, 'upper', 'must be a finite number, as x is a NUMBER'],
    [
      'bounds too far apart',
      { lower: -1e308, upper: 1e308 },
      'upper',
      'must be closer to -1e+308, the lower bound',
    ],
    [
      'fractions as bounds of an INTEGER',
      { kind: 'INTEGER', lower: 0.5 },
      'lower',
      'must be a whole number within ±9007199254740991, as x is an INTEGER',
    ],
    [
      'a bound of 0 on a logarithmic scale',
      { lower: 0, upper: 1, scale: 'LOGARITHMIC' },
      'lower',
      'must be greater than 0 on a logarithmic scale',
    ],
    [
      'a negative upper bound on a logarithmic scale',
      { upper: -1, scale: 'LOGARITHMIC' },
      'upper',
      'must be greater than 0 on a logarithmic scale',
    ],
    ['bounds of a TEXT', { kind: 'TEXT', upper: 1 }, 'upper', 'must be null, as a TEXT has no bounds'],
    ['a scale of a TEXT', { kind: 'TEXT', scale: 'LOGARITHMIC' }, 'scale', 'must be LINEAR for a TEXT'],
  ] as const)('may not have %s', (_, rest, field, what) =>
    expect(variableFaults([variable(), variable(rest)])).toEqual([{ where: `variables[1].${field}`, what }]),
  );
});

describe('values of a variable', () => {
  it('that is a TEXT have at most 10,000 characters', () => {
    const faultOf = (length: number) => valueFault(variable({ kind: 'TEXT' }), 'x'.repeat(length));
    expect([faultOf(10_000), faultOf(10_001)]).toEqual([undefined, 'must have at most 10000 characters']);
  });

  it.each([
    [{ lower: 1, upper: 2 }, 1],
    [{ lower: 1, upper: 2 }, 2],
    [{ kind: 'INTEGER' }, -7],
    [{ kind: 'TEXT' }, ''],
  ] as const)('of %j may be %j', (rest, value) => expect(valueFault(variable(rest), value)).toBeUndefined());

  it.each([
    [{ lower: 1 }, 0.999, 'must be at least 1, the lower bound of x'],
    [{ upper: 2 }, 2.001, 'must be at most 2, the upper bound of x'],
    [{}, '1', 'must be a finite number, as x is a NUMBER'],
    [{}, Number.NaN, 'must be a finite number, as x is a NUMBER'],
    [{ kind: 'INTEGER' }, 1.5, 'must be a whole number within ±9007199254740991, as x is an INTEGER'],
    [{ kind: 'INTEGER' }, 2 ** 53, 'must be a whole number within ±9007199254740991, as x is an INTEGER'],
    [{ kind: 'TEXT' }, 1, 'must be a text, as x is a TEXT'],
  ] as const)('of %j may not be %j', (rest, value, fault) =>
    expect(valueFault(variable(rest), value)).toBe(fault),
  );

  it.each([0.1, 1 / 3, -2.5e-9, 1e21, 5e-324, Number.MAX_VALUE, 12])('as text read back as %d', (value) =>
    expect(Number(textOf(value))).toBe(value),
  );

  it.each([
    [0.1, '0.1'],
    [100, '100'],
    [-0, '0'],
    ['steel', 'steel'],
  ])('as text: %j is %s', (value, text) => expect(textOf(value)).toBe(text));
});
