import { describe, expect, it } from 'vitest';
import { isPatternTooLong, MAX_PATTERN_LENGTH, matchesWildcard, WildcardAutomaton } from './wildcard.js';

/** A text that counts how often one of its characters is read. */
function countedText(text: string): { text: string; reads: () => number } {
  let reads = 0;
  const counted = new Proxy(
    {},
    {
      get(_, key) {
        if (key === 'length') return text.length;
        if (key === 'charCodeAt') {
          return (at: number) => {
            reads++;
            return text.charCodeAt(at);
          };
        }
        reads++;
        return text[Number(key)];
      },
    },
  );
  return { text: counted as unknown as string, reads: () => reads };
}

const VERSION = 'a'.repeat(200);

/** Patterns that are costly: on a text of equal characters they nearly match at each place. */
const COSTLY = [
  ['*a, a hundred times', `${'*a'.repeat(100)}b`],
  ['a long end', `*${'a'.repeat(100)}b`],
  ['a long piece', `*${'a'.repeat(100)}b*`],
  ['a long piece behind *?', `*?${'a'.repeat(100)}b*`],
  ['a?, fifty times', `*${'a?'.repeat(50)}b*`],
  ['?, ninety-nine times', `*${'?'.repeat(99)}b*`],
  ['many *', `${'*'.repeat(10_000)}b`],
  ['no wildcard', 'a'.repeat(10_000)],
] as const;

/** The simplest implementation. */
const asRegExp = (pattern: string) =>
  new RegExp(`^${pattern.replace(/[^*?]/g, '\\$&').replaceAll('*', '[^]*').replaceAll('?', '[^]')}$`);

describe('a text with wildcards', () => {
  it.each(COSTLY)('is compared in few steps for each character: %s', (_, pattern) => {
    const { text, reads } = countedText(VERSION);
    expect(matchesWildcard(pattern, text)).toBe(false);
    expect(reads()).toBeLessThan(10 * (pattern.length + VERSION.length));
  });

  it('matches correctly, also in the automaton', () => {
    const some = (alphabet: string, at: number, length: number) =>
      Array.from({ length }, (_, i) =>
        alphabet.charAt((at * 7 + i * i * (at % 5) + (at >> (i % 7))) % alphabet.length),
      ).join('');
    for (let at = 0; at < 4000; at++) {
      const pattern = some('ab*?', at, at % 9);
      const text = some('abc', at * 3 + 1, at % 8);
      const expected = asRegExp(pattern).test(text);
      const codes = Array.from(text, (character) => character.charCodeAt(0));
      expect(matchesWildcard(pattern, text), `${pattern} in ${text}`).toBe(expected);
      expect(new WildcardAutomaton(pattern).matches(codes, 0, codes.length), `${pattern} in ${text}`).toBe(
        expected,
      );
    }
  });

  it.each([31, 32, 33, 63, 64, 65, 200])('matches when it has %d characters', (length) => {
    const piece = 'ab'.repeat(length).slice(0, length - 1);
    const automaton = new WildcardAutomaton(`*${piece}c*`);
    const matches = (text: string) => automaton.matches(Buffer.from(text), 0, text.length);
    expect(matches(`ab${piece}c${piece}`)).toBe(true);
    expect(matches(`${piece}${piece}`)).toBe(false);
    expect(matches(`${piece}c`)).toBe(true);
    expect(automaton.matches(Buffer.from(`c${piece}cc`), 1, length + 1)).toBe(true);
    expect(automaton.matches(Buffer.from(`c${piece}cc`), 0, length)).toBe(false);
  });

  it('may be long only without wildcards', () => {
    const longest = 'x'.repeat(MAX_PATTERN_LENGTH);
    expect(isPatternTooLong(longest.repeat(4))).toBe(false);
    expect(isPatternTooLong(`*${longest.slice(1)}`)).toBe(false);
    expect(isPatternTooLong(`${longest}*`)).toBe(true);
    expect(isPatternTooLong(`?${longest}`)).toBe(true);
  });
});
