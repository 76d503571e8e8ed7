import { describe, expect, it } from 'vitest';
import { printable, sizeInWords, table } from './console.js';
import { barOf } from './progress.js';

describe('a table', () => {
  it('has a column for each title, and no control characters', () => {
    const rows = [{ name: 'gear' }, { name: '\u001b[2Jevil\nname' }];
    expect(table(rows, [{ title: 'NAME', of: ({ name }) => name }])).toBe(
      'NAME\ngear\n\\u001b[2Jevil\\u000aname',
    );
  });
});

describe('printable text', () => {
  it('has directions of writing escaped', () => {
    expect(printable('a\u202eb')).toBe('a\\u202eb');
  });
});

describe('a size', () => {
  it.each([
    [0, '0 B'],
    [1023, '1023 B'],
    [1024, '1.0 KiB'],
    [1.5 * 1024 ** 3, '1.5 GiB'],
  ])('of %i bytes is %s', (bytes, words) => {
    expect(sizeInWords(bytes)).toBe(words);
  });
});

describe('the bar of a transfer', () => {
  it('shows part, speed and time left', () => {
    expect(barOf('a', 512, 1024, 1)).toBe('a [############------------] 50 % of 1.0 KiB, 512 B/s, 1 s left');
    expect(barOf('a', 0, 0, 0)).toContain('100 %');
  });
});
