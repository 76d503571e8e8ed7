import { describe, expect, it } from 'vitest';
import { durationMarkText, durationText, relativeText, sizeText } from './formats.js';

it.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [4200, '4.2 s'],
  [59_999, '59 s'],
  [185_000, '3 min 05 s'],
  [7_800_000, '2 h 10 min'],
  [273_600_000, '3 d 4 h'],
  [-5, '0 ms'],
])('writes %i ms as %s', (ms, text) => {
  expect(durationText(ms, 'en')).toBe(text);
});

it.each([
  [0, '0'],
  [5, '5 ms'],
  [500, '500 ms'],
  [6000, '6 s'],
  [2500, '2,5 s'],
  [60_000, '1 min 00 s'],
])('writes %i ms at an axis as %s', (ms, text) => {
  expect(durationMarkText(ms, 'de')).toBe(text);
});

it.each([
  [0, '0 B'],
  [1023, '1,023 B'],
  [1536, '1.5 KiB'],
  [200 * 1024 ** 2, '200 MiB'],
  [20 * 1024 ** 3, '20 GiB'],
])('writes %i bytes as %s', (bytes, text) => {
  expect(sizeText(bytes, 'en')).toBe(text);
});

describe('a relative time', () => {
  const nowMs = Date.parse('2026-11-21T12:00:00Z');
  const ago = (seconds: number) => relativeText(nowMs - seconds * 1000, nowMs, 'en');

  it('is as long ago as it was, in whole units', () => {
    expect([2, 30, 90, 7200, 90_000].map(ago)).toEqual([
      'now',
      '30 sec. ago',
      '1 min. ago',
      '2 hr. ago',
      'yesterday',
    ]);
  });

  it('may be to come', () => {
    expect(ago(-300)).toBe('in 5 min.');
  });
});
