import { describe, expect, it } from 'vitest';
import {
  type CsvReader,
  MAX_VALUE_NAME_LENGTH,
  MAX_VALUES,
  type ReaderSyntax,
  type ValueRule,
  valueRuleFaults,
} from './value-rules.js';

const FILE = { kind: 'FILE', path: 'result.csv' } as const;
const CSV: CsvReader = { kind: 'CSV', column: 'force', take: 'MAX', delimiter: ',', decimal: '.' };
const RULE: ValueRule = { name: 'force', unit: 'N', kind: 'NUMBER', source: FILE, reader: CSV };
const TAKEN = new Set(['thickness', 'point', 'outcome', 'task']);

const SYNTAX: ReaderSyntax = {
  jsonPathFault: (path) => (path === '$.bad' ? 'must be a path' : undefined),
  patternFault: (pattern) => (pattern === '(' ? 'must be a pattern' : undefined),
};

const faultsOf = (...rules: ValueRule[]) => valueRuleFaults(rules, TAKEN, SYNTAX);
const faultOf = (change: Partial<ValueRule>) => faultsOf({ ...RULE, ...change });
const csvFaultOf = (change: Partial<CsvReader>, kind: ValueRule['kind'] = 'NUMBER') =>
  faultOf({ kind, reader: { ...CSV, ...change } });

describe('the rules of values', () => {
  it('are at most 100', () => {
    const rules = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ ...RULE, name: `value-${index}` }));
    expect(faultsOf(...rules(MAX_VALUES))).toEqual([]);
    expect(faultsOf(...rules(101))).toEqual([{ where: 'values', what: 'must be at most 100' }]);
  });

  it('are all checked, each fault with its place', () => {
    expect(
      faultsOf(
        { ...RULE, name: '1' },
        RULE,
        { ...RULE, name: 'energy', reader: { kind: 'REGULAR_EXPRESSION', pattern: '(', take: 'LAST' } },
        { ...RULE, name: 'mass', reader: { kind: 'JSON_PATH', path: '$.bad' } },
      ),
    ).toEqual([
      {
        where: 'values[0].name',
        what: 'must be letters, digits, "_", "-" and ".", with a letter or "_" first',
      },
      { where: 'values[2].reader.pattern', what: 'must be a pattern' },
      { where: 'values[3].reader.path', what: 'must be a path' },
    ]);
  });
});

describe('the name of a value', () => {
  it.each(['a', 'σ_max', 'max-stress', 'part.mass', '_x1', 'größe', 'a'.repeat(MAX_VALUE_NAME_LENGTH)])(
    'may be %s',
    (name) => expect(faultOf({ name })).toEqual([]),
  );

  it.each(['', '1a', '-a', '.a', 'a b', 'a,b', 'a"', '=a', 'a\n'])('may not be %j', (name) =>
    expect(faultOf({ name })).toEqual([
      {
        where: 'values[0].name',
        what: 'must be letters, digits, "_", "-" and ".", with a letter or "_" first',
      },
    ]),
  );

  it('has at most 64 characters', () =>
    expect(faultOf({ name: 'a'.repeat(65) })).toEqual([
      { where: 'values[0].name', what: 'must have at most 64 characters' },
    ]));

  it('is given once', () =>
    expect(faultsOf(RULE, RULE)).toEqual([{ where: 'values[1].name', what: 'is given more than once' }]));

  it.each(['thickness', 'point'])('is none of the other columns, such as %s', (name) =>
    expect(faultOf({ name })).toEqual([
      { where: 'values[0].name', what: 'is the name of a variable or of another column already' },
    ]),
  );
});

describe('the unit of a value', () => {
  it.each([null, 'mm', 'N/mm²', '%', 'kg m'])('may be %s', (unit) => expect(faultOf({ unit })).toEqual([]));

  it.each([
    ['', 'must not be empty'],
    [' mm', 'must not begin or end with a blank'],
    ['m\u0007m', 'must not contain control characters'],
    ['m'.repeat(65), 'must have at most 64 characters'],
  ])('may not be %j', (unit, what) => expect(faultOf({ unit })).toEqual([{ where: 'values[0].unit', what }]));
});

describe('the source of a value', () => {
  it('may be the log', () => expect(faultOf({ source: { kind: 'LOG' } })).toEqual([]));

  it.each([
    ['../result.csv', 'must not have ".." as a part'],
    ['/tmp/result.csv', 'must be relative, without a leading "/"'],
    ['.workbench-log', 'must not begin with ".workbench-", which workbenches use'],
  ])('may not be the file %s', (path, what) =>
    expect(faultOf({ source: { kind: 'FILE', path } })).toEqual([{ where: 'values[0].source.path', what }]),
  );
});

describe('the reader of a column', () => {
  it.each([
    {},
    { column: 0 },
    { column: 'von Mises stress' },
    { take: { row: 0 } },
    { delimiter: ';', decimal: ',' },
    { delimiter: ' ' },
  ] satisfies Partial<CsvReader>[])('may have %j', (change) => expect(csvFaultOf(change)).toEqual([]));

  it.each([
    [{ column: '' }, 'column', 'must not be empty'],
    [{ column: ' a' }, 'column', 'must not begin or end with a blank'],
    [{ column: 'a'.repeat(201) }, 'column', 'must have at most 200 characters'],
    [{ column: -1 }, 'column', 'must be a whole number, counted from 0'],
    [{ column: 1.5 }, 'column', 'must be a whole number, counted from 0'],
    [{ take: { row: -1 } }, 'take', 'must be a whole number, counted from 0'],
    [{ delimiter: ',', decimal: ',' }, 'decimal', 'must not be the delimiter as well'],
  ] satisfies [Partial<CsvReader>, string, string][])('may not have %j', (change, field, what) =>
    expect(csvFaultOf(change)).toEqual([{ where: `values[0].reader.${field}`, what }]),
  );

  it.each(['FIRST', 'LAST', { row: 3 }] as const)('may take %j for a text', (take) =>
    expect(csvFaultOf({ take }, 'TEXT')).toEqual([]),
  );

  it.each(['MIN', 'MAX', 'MEAN', 'SUM', 'COUNT'] as const)('may not take %s for a text', (take) =>
    expect(csvFaultOf({ take }, 'TEXT')).toEqual([
      {
        where: 'values[0].reader.take',
        what: `must be FIRST, LAST or a row for a text; ${take} is for numbers`,
      },
    ]),
  );
});

describe('paths and patterns', () => {
  it('are not empty, and at most 1,000 characters long, before they are parsed', () => {
    const faults = (text: string) => [
      ...faultOf({ reader: { kind: 'JSON_PATH', path: text } }),
      ...faultOf({ reader: { kind: 'REGULAR_EXPRESSION', pattern: text, take: 'FIRST' } }),
    ];
    const both = (what: string) => [
      { where: 'values[0].reader.path', what },
      { where: 'values[0].reader.pattern', what },
    ];
    expect(faults('')).toEqual(both('must not be empty'));
    expect(faults('a'.repeat(1000))).toEqual([]);
    expect(faults('a'.repeat(1001))).toEqual(both('must have at most 1000 characters'));
  });
});
