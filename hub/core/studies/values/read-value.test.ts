import { describe, expect, it } from 'vitest';
import { MAX_TEXT_LENGTH, parseNumber, quoted, sourceName, valueOfText } from './read-value.js';

describe('a number', () => {
  it.each([
    ['0', 0],
    ['-12', -12],
    ['+1.5', 1.5],
    ['.5', 0.5],
    ['5.', 5],
    ['1e-3', 0.001],
    ['1.5E+02', 150],
    ['1.5D-03', 0.0015],
    ['-0.1d+01', -1],
    [' \t2\r\n', 2],
    ['nan', Number.NaN],
    ['-NaN', Number.NaN],
    ['Inf', Number.POSITIVE_INFINITY],
    ['+INFINITY', Number.POSITIVE_INFINITY],
    ['-inf', Number.NEGATIVE_INFINITY],
    ['1e999', Number.POSITIVE_INFINITY],
  ])('may be written as %j', (text, value) => expect(parseNumber(text, '.')).toBe(value));

  it.each([
    '',
    ' ',
    'abc',
    '1,5',
    '1 2',
    '1.2.3',
    '0x10',
    '1e',
    'e5',
    '.',
    '-',
    '1.5DD2',
    'infinite',
    '1_000',
    '5 mm',
  ])('may not be written as %j', (text) => expect(parseNumber(text, '.')).toBeUndefined());

  it.each([
    ['1,5', 1.5],
    ['-,5E1', -5],
    ['12', 12],
    ['NaN', Number.NaN],
    ['1.5', undefined],
    ['1.234,5', undefined],
    ['1,2,3', undefined],
  ])('with a decimal comma is read from %j as %s', (text, value) =>
    expect(parseNumber(text, ',')).toBe(value),
  );

  it('of a million digits and a letter ends, too', () =>
    expect(parseNumber(`${'1'.repeat(1_000_000)}x`, '.')).toBeUndefined());
});

describe('a text that was found', () => {
  it('is a number or a text, as the rule says', () => {
    expect(valueOfText('NUMBER', '1.5', 'x')).toEqual({ kind: 'NUMBER', value: 1.5 });
    expect(valueOfText('NUMBER', '1,5', 'x', ',')).toEqual({ kind: 'NUMBER', value: 1.5 });
    expect(valueOfText('TEXT', '1.5', 'x')).toEqual({ kind: 'TEXT', value: '1.5' });
  });

  it('is missing as a number when it is none, with its beginning', () => {
    expect(valueOfText('NUMBER', 'abc', 'row 3')).toEqual({
      kind: 'MISSING',
      reason: 'row 3 is "abc", which is no number',
    });
    expect(valueOfText('NUMBER', ' ', 'row 3')).toEqual({ kind: 'MISSING', reason: 'row 3 is empty' });
  });

  it('is missing as a text when it is too long', () => {
    expect(valueOfText('TEXT', 'a'.repeat(MAX_TEXT_LENGTH), 'row 3').kind).toBe('TEXT');
    expect(valueOfText('TEXT', 'a'.repeat(1001), 'row 3')).toEqual({
      kind: 'MISSING',
      reason: 'row 3 has 1001 characters; a text has at most 1000',
    });
  });

  it('is quoted with at most 40 characters in one line', () => {
    expect(quoted('a\nb')).toBe('"a\\nb"');
    expect(quoted('a'.repeat(40))).toBe(`"${'a'.repeat(40)}"`);
    expect(quoted('a'.repeat(41))).toBe(`"${'a'.repeat(40)}"…`);
  });
});

describe('a source', () => {
  it('is named by its path, or as the log', () => {
    expect(sourceName({ kind: 'FILE', path: 'out/result.csv' })).toBe('out/result.csv');
    expect(sourceName({ kind: 'LOG' })).toBe('the log');
  });
});
