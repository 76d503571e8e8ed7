import { matchesWildcard } from '@workbench-hub/shared/domain/wildcard';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { foldedName } from '../../../core/task-filter.js';
import { searchable } from '../../rows/searchable-text.js';
import { addWildcardFunction, conditionOf } from './filter-condition.js';

const LONG = 'crankshaft torsion study of 2026';
const TEXTS = [
  ...['', 'a', 'abc', 'a[b]c', 'A*B', '[', ']', '^', '🚀', '🚀🚀', 'ß', 'a\0b', '\0', 'x\uD800y'],
  ...[LONG, `the ${LONG}`, `${LONG} 2`, `${LONG.slice(5)}`, 'a'.repeat(40), `${'a'.repeat(40)}b`],
];
const PATTERNS = [
  ...[
    '*',
    '?',
    '??',
    'a*',
    '*c',
    'a[b]c',
    '*[*',
    '*]',
    'a*b',
    '*^*',
    '🚀',
    '?🚀',
    '*🚀*',
    '*\0*',
    'a?b',
    '*\uD800*',
    '***',
  ],
  ...[
    `*${LONG}`,
    `*${LONG}*`,
    `${LONG}*`,
    `*${LONG.replaceAll(' ', '?')}*2`,
    `*?${'a'.repeat(38)}b`,
    `*${'a'.repeat(41)}*`,
  ],
  ...[`?${'a'.repeat(39)}*`, `*a*${'a'.repeat(20)}b*`],
];

describe('the condition of a text', () => {
  it.each(PATTERNS)('matches what the pattern matches: %j', (pattern) => {
    const db = new Database(':memory:');
    addWildcardFunction(db);
    const { sql, values } = conditionOf({ statuses: [], name: pattern });
    const select = db
      .prepare<unknown[], number>(`SELECT count(*) FROM (SELECT ? AS name) WHERE ${sql}`)
      .pluck();
    const matching = TEXTS.filter((text) => select.get(searchable(foldedName(text)), ...values) === 1);
    expect(matching).toEqual(TEXTS.filter((text) => matchesWildcard(foldedName(pattern), foldedName(text))));
    db.close();
  });

  it('has GLOB look for short runs only, of which few texts match those of a long one', () => {
    const { sql, values } = conditionOf({ statuses: [], creator: `ann*?${'a'.repeat(250)}b*` });
    expect(sql).toBe('creator GLOB ? AND matches_wildcard(?, creator)');
    expect(values[0]).toBe(`ann*${'a'.repeat(15)}b*`);
  });
});
