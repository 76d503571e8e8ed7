import { describe, expect, it } from 'vitest';
import { duration, size } from './values.js';

describe('a duration', () => {
  it.each([
    ['500ms', 500],
    ['30s', 30_000],
    ['15m', 900_000],
    ['12h', 43_200_000],
    ['7d', 604_800_000],
    [' 1 s ', 1000],
  ])('%s is %i ms', (text, expected) => {
    expect(duration().parse(text)).toBe(expected);
  });

  it.each(['', '30', '30 seconds', '-1s', '1.5h', '0s', '1e3s', '999999999999d', 30, 'toStringms'])(
    'is not %j',
    (value) => {
      expect(duration().safeParse(value).success).toBe(false);
    },
  );

  it('may be zero where permitted', () => {
    expect(duration({ minMs: 0 }).parse('0s')).toBe(0);
  });
});

describe('a size', () => {
  it.each([
    ['64MiB', 67_108_864],
    ['2GiB', 2_147_483_648],
    ['1TiB', 1_099_511_627_776],
    ['10 KiB', 10_240],
    ['5B', 5],
    ['5', 5],
    [4096, 4096],
  ])('%s is %i bytes', (value, expected) => {
    expect(size().parse(value)).toBe(expected);
  });

  it.each(['', '64MB', '1.5GiB', 1.5, -1, 0, 'MiB', null])('is not %j', (value) => {
    expect(size().safeParse(value).success).toBe(false);
  });
});
