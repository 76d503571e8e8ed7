import { describe, expect, it } from 'vitest';
import { byteOfUnit, type OpenBytes, startOfLastLines } from './log-file-part.js';

/** Opens bytes in small chunks. */
function opening(content: Buffer, chunkBytes = 7): OpenBytes {
  return async function* ({ start, end }) {
    for (let at = start; at < end; at += chunkBytes)
      yield content.subarray(at, Math.min(at + chunkBytes, end));
  };
}

const tail = async (text: string, lines: number) => {
  const content = Buffer.from(text);
  const start = await startOfLastLines(opening(content, 1000), content.length, lines);
  return content.toString('utf8', start);
};

describe('the last lines of a file', () => {
  it.each([
    ['one\ntwo\nthree\n', 1, 'three\n'],
    ['one\ntwo\nthree', 2, 'two\nthree'],
    ['one\ntwo\n', 2, 'one\ntwo\n'],
    ['one\ntwo\n', 9, 'one\ntwo\n'],
    ['\n\n', 1, '\n'],
    ['one', 1, 'one'],
  ])('of %j: %i', async (text, lines, expected) => {
    expect(await tail(text, lines)).toBe(expected);
  });

  it('are found across blocks', async () => {
    const lines = Array.from({ length: 50_000 }, (_, line) => `line ${line}\n`);
    expect(await tail(lines.join(''), 20_000)).toBe(lines.slice(-20_000).join(''));
  });

  it('begin in the last 16 MiB', async () => {
    const content = Buffer.alloc(20 * 1024 * 1024, 'x');
    expect(await startOfLastLines(opening(content, 65_536), content.length, 1)).toBe(4 * 1024 * 1024);
  });
});

describe('the byte of a position', () => {
  const text = 'größe: 😀 €\n';
  const content = Buffer.from(text);

  it('is that of the same character', async () => {
    for (let unit = 0; unit <= text.length; unit++) {
      // The second unit of 😀 is within a character, which is not cut.
      const expected = Buffer.byteLength(text.slice(0, unit === 8 ? 9 : unit));
      expect(await byteOfUnit(opening(content, 3), content.length, unit), String(unit)).toBe(expected);
    }
  });

  it('does not exist beyond the end', async () => {
    expect(await byteOfUnit(opening(content), content.length, text.length + 1)).toBeUndefined();
  });
});
