import { expect, it } from 'vitest';
import { offersIn, ruleOf, rulesOf, type ValueOffer } from './value-rules.js';

const JSON_TEXT = JSON.stringify({
  stress: { max: 12, 'by node': [1, 2], text: 'no' },
  series: Array.from({ length: 100 }, (_, at) => at),
});

it('offers the numbers of a JSON output, but for long lists', () => {
  expect(offersIn('out/result.json', JSON_TEXT)).toMatchObject([
    { label: '$.stress.max', name: 'stress.max', found: { LAST: 12 } },
    { label: "$.stress['by node'][0]", name: 'stress.by_node_0', found: { LAST: 1 } },
    { label: "$.stress['by node'][1]", found: { LAST: 2 } },
  ]);
  expect(offersIn('result.json', '{"mass": NaN}')).toEqual([]);
});

it('offers the numeric columns of a table', () => {
  const found = { FIRST: 3, LAST: 2, MIN: -1, MAX: 3, MEAN: 4 / 3, SUM: 4, COUNT: 3 };
  expect(offersIn('a.csv', 'name;force [N]\nx;3\ny;-1\nz;2\n')).toEqual([
    {
      key: 'a.csv 1',
      path: 'a.csv',
      label: 'force [N]',
      name: 'force_N_',
      reader: { kind: 'CSV', column: 'force [N]', delimiter: ';' },
      found,
    },
  ]);
  expect(offersIn('b.tsv', '1\t2\n3\t4\n')).toMatchObject([
    { name: 'column0', reader: { column: 0, delimiter: '\t' } },
    { name: 'column1', reader: { column: 1 } },
  ]);
});

it('makes rules with names of their own', () => {
  const [offer] = offersIn('a.csv', 'x,y\n1,2\n') as [ValueOffer];
  const typed = ruleOf('x_max=log~x (\\d+)');
  if (typed === undefined) throw new Error('the rule cannot be read');
  const rules = rulesOf(
    [
      [offer, 'LAST'],
      [offer, 'MAX'],
      [offer, 'LAST'],
    ],
    [typed],
    ['x'],
  );
  expect(rules.map(({ name }) => name)).toEqual(['x_2', 'x_max_2', 'x_3', 'x_max']);
  expect(rules[1]).toMatchObject({
    source: { kind: 'FILE', path: 'a.csv' },
    reader: { kind: 'CSV', column: 'x', take: 'MAX', delimiter: ',' },
  });
});

it.each([
  ['s=r.json#$.s', { source: { kind: 'FILE', path: 'r.json' }, reader: { kind: 'JSON_PATH', path: '$.s' } }],
  ['t=log~took (\\S+) s', { source: { kind: 'LOG' }, reader: { kind: 'REGULAR_EXPRESSION' } }],
  ['f=m.csv:force:max', { reader: { kind: 'CSV', column: 'force', take: 'MAX' } }],
  ['f=m.csv;2', { reader: { kind: 'CSV', column: 2, take: 'LAST', delimiter: ';' } }],
])('reads the rule %s', (text, expected) => {
  expect(ruleOf(text)).toMatchObject({ name: text[0], ...expected });
});

it.each(['stress', 'f=m.csv:force:middle', '=a#$'])('reads no rule in %s', (text) => {
  expect(ruleOf(text)).toBeUndefined();
});
