import { matchesWildcard } from '@workbench-hub/shared/domain/wildcard';
import { describe, expect, it } from 'vitest';
import { TextColumn } from './text-column.js';
import { TextPattern } from './text-pattern.js';

function columnOf(texts: readonly (string | null)[]): TextColumn {
  const column = new TextColumn(texts.length);
  for (const [row, text] of texts.entries()) column.append(row, text);
  return column;
}

/** The rows that match. */
function rowsOf(pattern: string, texts: readonly (string | null)[]): number[] {
  const rows = Uint16Array.from(texts.keys());
  return [...rows.subarray(0, new TextPattern(pattern).keep(columnOf(texts), rows, texts.length))];
}

describe('the rows that match a pattern', () => {
  it.each([
    ['ab', ['ab', 'abc', 'xab', null, ''], [0]],
    ['', ['', null, 'a'], [0]],
    ['*', ['', null, 'a'], [0, 2]],
    ['?', ['', null, 'a', 'ab'], [2]],
    ['*b*', ['abc', 'a', 'b', null, 'xxb'], [0, 2, 4]],
    ['a*a', ['a', 'aa', 'aba', 'ab'], [1, 2]],
    ['*?b', ['b', 'ab', 'bb', 'ba'], [1, 2]],
    ['*ab*ab*', ['ab', 'abab', 'ab-ab', 'aba'], [1, 2]],
    // What stands at the end of one row and the beginning of the next is in neither.
    ['*ab*', ['xa', 'bx', 'ab'], [2]],
    ['*a?c*', ['xa', 'bc', 'abc'], [2]],
    ['*größe?', ['größe1', 'die größe2', 'größe'], [0, 1]],
    ['*[a]*', ['a', '[a]'], [1]],
    ['abcdef*', ['abcdef', 'xabcdef', 'abcde', 'f', 'abcdefg', 'x'], [0, 4]],
    ['*abcdef', ['abcdef', 'abcdefx', 'xabcdef', 'abc', 'def'], [0, 2]],
  ] as const)('%j in %j', (pattern, texts, expected) => {
    expect(rowsOf(pattern, texts)).toEqual(expected);
  });

  it('are those that the comparison of one text with one pattern finds', () => {
    const random = randomOf(7);
    const textOf = (alphabet: string, longest: number) =>
      Array.from({ length: Math.floor(random() * (longest + 1)) }, () =>
        alphabet.charAt(Math.floor(random() * alphabet.length)),
      ).join('');
    for (let round = 0; round < 3000; round++) {
      const pattern = textOf('ab*?', 8);
      const texts = Array.from({ length: 12 }, () => (random() < 0.1 ? null : textOf('abc', 7)));
      const expected = [...texts.keys()].filter((row) => {
        const text = texts[row];
        return text !== null && text !== undefined && matchesWildcard(pattern, text);
      });
      expect(rowsOf(pattern, texts), `${pattern} in ${JSON.stringify(texts)}`).toEqual(expected);
    }
  });

  it('are sought among those that are asked for', () => {
    const rows = Uint16Array.from([0, 3, 4, 5, 9]);
    const count = new TextPattern('*a*').keep(columnOf(['a', 'a', 'a', 'b', 'a', null, 'a']), rows, 4);
    expect([...rows.subarray(0, count)]).toEqual([0, 4]);
  });
});

/** Numbers from 0 to 1, always the same for a seed. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
