import { describe, expect, it } from 'vitest';
import { printable, SafeOutput, sizeInWords, table } from './console.js';
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

describe('output of a job', () => {
  const written = (isTTY: boolean, ...pieces: readonly string[]) => {
    let text = '';
    const output = new SafeOutput({
      isTTY,
      write(piece: string | Uint8Array) {
        text += String(piece);
        return true;
      },
    });
    for (const piece of pieces) output.write(piece);
    output.end();
    return text;
  };
  const HOSTILE = '\u001b]52;c;ZXZpbA==\u0007\u001b[2J\u009b2J\u001bP\u0008\u202ea\tb\r\n';

  it('has all control sequences escaped on a terminal', () => {
    expect(written(true, HOSTILE)).toBe(
      '\\u001b]52;c;ZXZpbA==\\u0007\\u001b[2J\\u009b2J\\u001bP\\u0008\\u202ea\tb\r\n',
    );
  });

  it('has its colors on a terminal, also in pieces, and they end with it', () => {
    expect(written(true, 'a\u001b', '[1;3', '1mred', '\u001b[0m.')).toBe('a\u001b[1;31mred\u001b[0m.');
    expect(written(true, '\u001b[8mhidden')).toBe('\u001b[8mhidden\u001b[0m');
    expect(written(true, 'a\u001b[12')).toBe('a\\u001b[12');
  });

  it('is as it is elsewhere', () => {
    expect(written(false, HOSTILE)).toBe(HOSTILE);
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
