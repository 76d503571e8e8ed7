import { describe, expect, it } from 'vitest';
import { fromSearchable, globPattern, likePattern, searchable } from './searchable-text.js';

describe('searchable texts', () => {
  it('have as many signs as the text has characters', () => {
    expect([...searchable('🚀a')]).toHaveLength(3);
    expect(searchable('Größe')).toBe('Größe');
    expect(searchable('🚀')).not.toBe(searchable('🚁'));
  });

  it.each(['', 'Größe', '🚀 1', '\0', 'a\0\uD800b\uDFFF', '\u{F0000}\u{F0800}'])(
    'have no NUL and no half of a sign, and can be read back: %j',
    (text) => {
      expect(searchable(text).isWellFormed()).toBe(true);
      expect(searchable(text)).not.toContain('\0');
      expect(fromSearchable(searchable(text))).toBe(text);
    },
  );

  it('are found by patterns, whose other signs stand for themselves', () => {
    expect(likePattern('a*b?')).toBe('a%b_');
    expect(likePattern('100%_\\')).toBe('100\\%\\_\\\\');
    expect(globPattern('*[a-z]?')).toBe('*[[]a-z]?');
  });
});
