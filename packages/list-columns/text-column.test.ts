import { matchesWildcard } from '@workbench-hub/shared/domain/wildcard';
import { describe, expect, it } from 'vitest';
import { ColumnPattern, SEGMENT_ROWS, type TextColumn, TextColumnBuilder } from './text-column.js';
import type { Texts } from './texts.js';

type Text = string | null;

/** A column of these texts while it grows, and when it is full. */
function columnsOf(texts: readonly Text[], ofEveryTask = false): { growing: Texts; full: TextColumn } {
  const growing = new TextColumnBuilder({ ofEveryTask });
  const builder = new TextColumnBuilder({ ofEveryTask });
  for (const [row, text] of texts.entries()) {
    growing.append(row, text);
    builder.append(row, text);
  }
  return { growing: growing.texts(), full: builder.take() };
}

function kept(column: TextColumn | Texts, pattern: string, texts: readonly Text[]): number[] {
  const rows = Uint16Array.from(texts.keys());
  return [...rows.subarray(0, new ColumnPattern(pattern).keep(column, rows, texts.length))];
}

/** The rows that match, of the column while it grows and when it is full. */
function rowsOf(pattern: string, texts: readonly Text[], ofEveryTask = false): number[] {
  const { growing, full } = columnsOf(texts, ofEveryTask);
  const rows = kept(growing, pattern, texts);
  expect(kept(full, pattern, texts)).toEqual(rows);
  return rows;
}

/** The same by the plainest means. */
const expectedOf = (pattern: string, texts: readonly Text[]): number[] =>
  [...texts.keys()].filter((row) => {
    const text = texts[row] ?? null;
    return text !== null && matchesWildcard(pattern, text);
  });

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
    // Text across the end of one row and the beginning of the next is in neither.
    ['*ab*', ['xa', 'bx', 'ab'], [2]],
    ['*a?c*', ['xa', 'bc', 'abc'], [2]],
    ['*größe?', ['größe1', 'die größe2', 'größe'], [0, 1]],
    ['*[a]*', ['a', '[a]'], [1]],
    ['abcdef*', ['abcdef', 'xabcdef', 'abcde', 'f', 'abcdefg', 'x'], [0, 4]],
    ['*abcdef', ['abcdef', 'abcdefx', 'xabcdef', 'abc', 'def'], [0, 2]],
    // More than a byte for each character, and two of them for what one sees.
    ['*寿命?', ['寿命1', '寿命', '寿', 'x寿命é'], [0, 3]],
    ['??', ['⚙', '🚀', 'ab', null], [1, 2]],
    // One byte is the same.
    ['*\u0131*x', ['1\u0001 1x', 'a'], []],
    ['*\u0100*', ['\u0100', '\u0000', 'a\u0100b'], [0, 2]],
  ] as const)('%j in %j', (pattern, texts, expected) => {
    expect(rowsOf(pattern, texts)).toEqual(expected);
  });

  it('are the same as by comparison of single texts', () => {
    const { textOf, below } = chance(7);
    for (let round = 0; round < 3000; round++) {
      const pattern = textOf('ab*?', 8);
      const texts = Array.from({ length: 12 }, () => (below(10) === 0 ? null : textOf('abc', 7)));
      expect(rowsOf(pattern, texts), `${pattern} in ${JSON.stringify(texts)}`).toEqual(
        expectedOf(pattern, texts),
      );
    }
  });

  it.each(['abc', 'abé', 'ab⚙'])('are the same with many texts of %s', (alphabet) => {
    const { textOf, below } = chance(alphabet.charCodeAt(2));
    const texts = Array.from({ length: SEGMENT_ROWS }, (_, row) => {
      if (below(10) === 0) return null;
      // Values that are rare in the first half are frequent in the second.
      return row % 400 === 0 || row > 3000
        ? `${textOf(alphabet, 4)}xyz${textOf(alphabet, 9)}`
        : textOf(alphabet, 12);
    });
    const { growing, full } = columnsOf(texts);
    expect(full.form).toBe('texts');
    const third = alphabet.charAt(2);
    const patterns = [
      '*xyz*',
      'xyz*',
      '*z',
      '*x?z*a*',
      'ab*',
      `*${third}${third}${third}*b?a*`,
      '*',
      '',
      '??',
      `a*${third}xyz*`,
    ];
    for (const pattern of [...patterns, ...Array.from({ length: 30 }, () => textOf(`${alphabet}z**?`, 7))]) {
      const expected = expectedOf(pattern, texts);
      expect(kept(growing, pattern, texts), pattern).toEqual(expected);
      expect(kept(full, pattern, texts), pattern).toEqual(expected);
    }
  });

  it('are searched among given rows', () => {
    const rows = Uint16Array.from([0, 3, 4, 5, 9]);
    const { full } = columnsOf(['a', 'a', 'a', 'b', 'a', null, 'a']);
    const count = new ColumnPattern('*a*').keep(full, rows, 4);
    expect([...rows.subarray(0, count)]).toEqual([0, 4]);
  });

  it('are searched among many given rows by a rare part', () => {
    const texts = Array.from({ length: SEGMENT_ROWS }, (_, row) =>
      row % 90 === 0 ? `${row} rare` : `${row} else`,
    );
    const { full } = columnsOf(texts);
    const rows = Uint16Array.from(Array.from(texts.keys()).filter((row) => row % 2 === 0));
    const count = new ColumnPattern('*rare').keep(full, rows, rows.length);
    expect([...rows.subarray(0, count)]).toEqual([...texts.keys()].filter((row) => row % 90 === 0));
  });
});

/** The same texts, which count how often one of their characters is read. */
function counted(texts: Texts): { texts: Texts; reads: () => number } {
  let reads = 0;
  const units = new Proxy(texts.units, {
    get(target, key) {
      if (typeof key === 'string' && /^\d+$/.test(key)) reads++;
      return Reflect.get(target, key, target);
    },
  });
  return { texts: { ...texts, units }, reads: () => reads };
}

describe('a malicious pattern', () => {
  const PATTERNS = [
    ['a long piece', `*${'a'.repeat(120)}b*`],
    ['a long piece behind *?', `*?${'a'.repeat(120)}b*`],
    ['a?, sixty times', `*${'a?'.repeat(60)}b*`],
    ['?a, sixty times', `*${'?a'.repeat(60)}?b*`],
    ['*a, a hundred times', `${'*a'.repeat(100)}b`],
    ['?, two hundred times', `*${'?'.repeat(200)}b*`],
    ['another width of characters', `*${'a'.repeat(120)}\u4e18*`],
  ] as const;
  const LENGTH = 1000;

  it.each([
    ['a', 'a byte'],
    ['\u4e16', 'two bytes'],
  ])('is compared in few steps for each character, of %s', (letter) => {
    const builder = new TextColumnBuilder({ ofEveryTask: false });
    for (let row = 0; row < 20; row++) builder.append(row, letter.repeat(LENGTH));
    const { texts, reads } = counted(builder.texts());
    for (const [name, pattern] of PATTERNS) {
      const before = reads();
      const ofLetter = pattern.replaceAll('a', letter).replaceAll('b', '\u4e17');
      expect(kept(texts, ofLetter, Array(20).fill('')), name).toEqual([]);
      expect(reads() - before, name).toBeLessThan(20 * LENGTH * 12);
    }
  });

  it('matches correctly', () => {
    const texts = Array.from(
      { length: 300 },
      (_, row) => `${'a'.repeat(700)}${row % 7 === 0 ? 'b' : ''}${'a'.repeat(row)}`,
    );
    for (const [, pattern] of PATTERNS) {
      expect(rowsOf(pattern, texts)).toEqual(expectedOf(pattern, texts));
    }
    expect(rowsOf(`*${'a?'.repeat(60)}b*`, texts)).toHaveLength(43);
  });
});

describe('a column uses the smallest form:', () => {
  const uuids = Array.from(
    { length: 600 },
    (_, row) =>
      `0199${row.toString(16).padStart(4, '0')}-9abc-7def-8${row.toString(16).padStart(3, '0')}-a0b1c2d3e4f5`,
  );

  it('none without texts', () => {
    expect(columnsOf([null, null]).full).toEqual({ form: 'none' });
    expect(rowsOf('*', [null, null])).toEqual([]);
  });

  it('a number for each row if few texts are repeated', () => {
    const texts = Array.from({ length: 2000 }, (_, row) => (row % 7 === 0 ? null : `user${row % 200}`));
    expect(columnsOf(texts).full.form).toBe('few');
    for (const pattern of ['user7', 'user1*', '*', '*9?', 'User7', '']) {
      expect(rowsOf(pattern, texts)).toEqual(expectedOf(pattern, texts));
    }
    expect(columnsOf([...texts, ...Array.from({ length: 80 }, (_, row) => `${row}`)]).full.form).toBe(
      'texts',
    );
  });

  it('16 bytes for each identifier of the hub', () => {
    expect(columnsOf(uuids, true).full.form).toBe('uuids');
    const { textOf } = chance(5);
    const patterns = [
      '*',
      '',
      uuids[77] ?? '',
      '0199*',
      '*e4f5',
      '*-7*-8*',
      '*00ff-9*',
      '*-8??f-*',
      '????????-*',
      '*-',
      '*A0*',
      // More than the automaton has states for.
      '*a????????????????????*',
      '?'.repeat(36),
      '?'.repeat(37),
      `*${'0'.repeat(2000)}*`,
    ];
    for (const pattern of [...patterns, ...Array.from({ length: 60 }, () => textOf('0129abcdef-**??', 6))]) {
      expect(rowsOf(pattern, uuids, true), pattern).toEqual(expectedOf(pattern, uuids));
    }
  });

  it.each([
    'id-7',
    '',
    `0199000A${'0199000a-9abc-7def-8000-a0b1c2d3e4f5'.slice(8)}`,
    '0199000a-9abc-7def-8000-a0b1c2d3e4fg',
    '0199000a-9abc-7def-8000a-0b1c2d3e4f5',
    '0199000a-9abc-7def-8000-a0b1c2d3e4fé',
    '0199000a-9abc-7def-8000-a0b1c2d3e4f⚙',
    '0199000a-9abc-7def-8000-a0b1c2d3e4f55',
  ])('the texts themselves if one is no identifier: %j', (other) => {
    const texts = [...uuids, other];
    expect(columnsOf(texts, true).full.form).toBe('texts');
    for (const pattern of [other, '*a*', '*f', '0199*', '*A*', `${other.slice(0, 5)}*`]) {
      expect(rowsOf(pattern, texts, true), pattern).toEqual(expectedOf(pattern, texts));
    }
  });

  it('the texts themselves if some task has no identifier', () => {
    expect(columnsOf([null, ...uuids]).full.form).toBe('texts');
    expect(rowsOf('*', [null, 'x', null])).toEqual([1]);
  });

  it('long texts with longer numbers for their lengths', () => {
    const texts = Array.from({ length: 300 }, (_, row) => `${row}${'x'.repeat(row === 9 ? 70_000 : row)}`);
    for (const length of [256, 300]) {
      const some = texts.map((text) => text.slice(0, length === 256 ? 300 : undefined));
      expect(columnsOf(some).full.form).toBe('texts');
      for (const pattern of ['*x', '9*', '299*xx', '1?'])
        expect(rowsOf(pattern, some)).toEqual(expectedOf(pattern, some));
    }
  });

  it('none again for the next segment', () => {
    const builder = new TextColumnBuilder({ ofEveryTask: true });
    for (const [row, text] of uuids.entries()) builder.append(row, text);
    builder.take();
    expect(builder.take()).toEqual({ form: 'none' });
    builder.append(3, 'a');
    const rows = Uint16Array.from([0, 3, 4]);
    expect(new ColumnPattern('*').keep(builder.texts(), rows, 3)).toBe(1);
    expect(rows[0]).toBe(3);
  });
});

/** Chance that is always the same for a seed. */
function chance(seed: number) {
  let state = seed;
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  const textOf = (alphabet: string, longest: number) =>
    Array.from({ length: below(longest + 1) }, () => alphabet.charAt(below(alphabet.length))).join('');
  return { below, textOf };
}
