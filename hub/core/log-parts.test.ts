import { describe, expect, it } from 'vitest';
import { partOfText } from './log-parts.js';

const LOG = { text: 'one\ntwo\nthree\n', offset: 100 };

describe('the part of a log', () => {
  it.each([
    [{}, 'one\ntwo\nthree\n', 100],
    [{ offset: 0 }, 'one\ntwo\nthree\n', 100],
    [{ offset: 104 }, 'two\nthree\n', 104],
    [{ offset: 106 }, 'o\nthree\n', 106],
    [{ offset: 114 }, '', 114],
    [{ offset: 115 }, 'one\ntwo\nthree\n', 100],
    [{ tail: 1 }, 'three\n', 108],
    [{ tail: 2 }, 'two\nthree\n', 104],
    [{ tail: 3 }, 'one\ntwo\nthree\n', 100],
    [{ tail: 9 }, 'one\ntwo\nthree\n', 100],
  ])('for %j', (query, text, offset) => {
    expect(partOfText(LOG, query)).toEqual({ text, offset });
  });

  it.each([
    ['', 5, ''],
    ['\n', 1, '\n'],
    ['\n\n\n', 2, '\n\n'],
    ['\nabc', 2, '\nabc'],
    ['a\nb', 1, 'b'],
    ['no line end', 1, 'no line end'],
  ])('has the last lines of %j: %i', (text, tail, expected) => {
    expect(partOfText({ text, offset: 0 }, { tail }).text).toBe(expected);
  });

  it('leaves out half of a character, which comes with the rest of it', () => {
    const [first, second] = ['a\ud83d', 'a\ud83d\ude00b'];
    const part = partOfText({ text: first, offset: 0 }, { offset: 0 });
    expect(part).toEqual({ text: 'a', offset: 0 });
    expect(partOfText({ text: second, offset: 0 }, { offset: 1 }).text).toBe('\ud83d\ude00b');
    const endOf = (text: string) => partOfText({ text, offset: 0 }, { offset: 0 }).text.length;
    expect(['a\ud7ff', 'a\ud800', 'a\udbff', 'a\udc00'].map(endOf)).toEqual([2, 1, 1, 2]);
  });
});
