import { describe, expect, it } from 'vitest';
import { contentRange, rangeOf } from './byte-range.js';

describe('a range of 10 bytes', () => {
  it.each([
    ['bytes=0-', { start: 0, end: 10 }],
    ['bytes=5-', { start: 5, end: 10 }],
    ['bytes=5-5', { start: 5, end: 6 }],
    ['bytes=5-99', { start: 5, end: 10 }],
    ['bytes=-3', { start: 7, end: 10 }],
    ['bytes=-99', { start: 0, end: 10 }],
    ['Bytes= 1-2 ', { start: 1, end: 3 }],
  ])('is parsed from %j', (header, range) => {
    expect(rangeOf(header, 10)).toEqual(range);
  });

  it.each(['bytes=10-', 'bytes=10-20', 'bytes=-0'])('is unsatisfiable: %j', (header) => {
    expect(rangeOf(header, 10)).toBe('UNSATISFIABLE');
  });

  it.each([undefined, '', 'bytes=', 'bytes=5-4', 'bytes=0-1,3-4', 'lines=0-1', 'bytes=a-b'])(
    'is ignored: %j',
    (header) => {
      expect(rangeOf(header, 10)).toBeUndefined();
    },
  );

  it('is named in Content-Range', () => {
    expect(contentRange({ start: 5, end: 10 }, 20)).toBe('bytes 5-9/20');
  });
});
