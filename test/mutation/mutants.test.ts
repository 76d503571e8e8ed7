import { describe, expect, it } from 'vitest';
import { mutantsOf } from './mutants.js';

const changesOf = (text: string) => mutantsOf(text).map(({ change }) => change);

describe('the mutants of a source text', () => {
  it.each([
    ['if (a === b) go();', ['!(a === b)', '===', 'remove go();']],
    ['while (a < 3) a += b;', ['!(a < 3)', '<', '3', '+=']],
    ['const c = a && !b ? true : d - e;', ['!(a && !b)', '&&', 'true', '-']],
    ['const c = () => { const d = 1; };', ['1']],
    ['void this.run(x); await send(y);', ['remove void this.run(x);', 'remove await send(y);']],
  ])('change operators, conditions, literals and calls: %s', (text, parts) => {
    const changes = changesOf(text);
    expect(changes).toHaveLength(parts.length);
    for (const part of parts) {
      expect(changes.some((change) => change.startsWith(part) || change.endsWith(part))).toBe(true);
    }
  });

  it('change the conditions of statements of SQL', () => {
    const text = `const a = \`UPDATE task SET a = 1 WHERE id = \${id} AND term >= \${term} AND state < 2\`;`;
    expect(changesOf(text)).toEqual(['AND -> OR', '>= -> >', 'AND -> OR', '< -> <=']);
  });

  it.each([
    "import { a } from './a.js';",
    'interface A { readonly b: true }',
    'const a: 1 | 2 = b;',
    'const LIMITS = { most: 60 }; const FIRST = 5;',
    "this.#options.log.info({ a: 1 }, 'said'); log.warn(b > 1);",
    "const a = b + ' text' + `more`;",
    'class A extends B { constructor() { super(a); } }',
  ])('leave types, imports, logging, joined texts and chosen numbers alone: %s', (text) =>
    expect(changesOf(text)).toEqual([]),
  );

  it('replace exactly their place', () => {
    const text = 'let ok = () => a >= 1;';
    const texts = mutantsOf(text).map(
      ({ start, end, replacement }) => text.slice(0, start) + replacement + text.slice(end),
    );
    expect(texts).toEqual(['let ok = () => a > 1;', 'let ok = () => a >= (1 + 1);']);
  });
});
