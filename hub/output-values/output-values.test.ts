import { describe, expect, it } from 'vitest';
import type { ReadValue } from '../core/studies/values/read-value.js';
import type { CsvReader, ValueReader, ValueRule } from '../core/studies/values/value-rules.js';
import { outputValues } from './output-values.js';

const number = (value: number): ReadValue => ({ kind: 'NUMBER', value });
const text = (value: string): ReadValue => ({ kind: 'TEXT', value });
const missing = (reason: string): ReadValue => ({ kind: 'MISSING', reason });
const lines = (...rows: string[]) => rows.join('\n');

function ruleOf(reader: ValueReader, path: string | null, kind: ValueRule['kind'] = 'NUMBER'): ValueRule {
  const source = path === null ? ({ kind: 'LOG' } as const) : ({ kind: 'FILE', path } as const);
  return { name: 'value', unit: null, kind, source, reader };
}

async function readOne(rule: ValueRule, content: string): Promise<ReadValue | undefined> {
  const [value] = await outputValues.readValues([rule], Buffer.from(content));
  return value;
}

const readJson = (path: string, content: string, kind?: ValueRule['kind']) =>
  readOne(ruleOf({ kind: 'JSON_PATH', path }, 'result.json', kind), content);

function readCsv(reader: Partial<CsvReader>, content: string, kind?: ValueRule['kind']) {
  const whole: CsvReader = {
    kind: 'CSV',
    column: 'force',
    take: 'LAST',
    delimiter: ',',
    decimal: '.',
    ...reader,
  };
  return readOne(ruleOf(whole, 'result.csv', kind), content);
}

const readLog = (
  pattern: string,
  content: string,
  take: 'FIRST' | 'LAST' = 'LAST',
  kind?: ValueRule['kind'],
) => readOne(ruleOf({ kind: 'REGULAR_EXPRESSION', pattern, take }, null, kind), content);

describe('values by JSON path', () => {
  const DOCUMENT = JSON.stringify({
    mass: 1.5,
    name: 'rod',
    converged: true,
    nothing: null,
    limits: { high: 'Inf', low: '-1.5D+02', none: 'abc' },
    steps: [{ time: 0 }, { time: 0.1 }, { time: 0.2 }],
    parts: [
      { id: 'a', stress: 1 },
      { id: 'b', stress: 2 },
    ],
  });

  it.each([
    ['$.mass', 1.5],
    ["$['mass']", 1.5],
    ['$.steps[-1].time', 0.2],
    ['$.steps[1:2].time', 0.1],
    ["$.parts[?@.id == 'b'].stress", 2],
    ["$.parts[?length(@.id) == 1 && !(@.id == 'b')].stress", 1],
    ['$..high', Number.POSITIVE_INFINITY],
    ['$.limits.low', -150],
  ])('are numbers, as by %s', async (path, value) =>
    expect(await readJson(path, DOCUMENT)).toEqual(number(value)),
  );

  it.each([
    ['$.name', 'rod'],
    ['$.mass', '1.5'],
    ['$.converged', 'true'],
    ['$.limits.low', '-1.5D+02'],
  ])('are texts, as by %s', async (path, value) =>
    expect(await readJson(path, DOCUMENT, 'TEXT')).toEqual(text(value)),
  );

  it('are read from the root, too, and behind a byte order mark', async () => {
    expect(await readJson('$', '\ufeff 4\r\n')).toEqual(number(4));
  });

  it.each([
    ['$.weight', '"$.weight" is not in result.json'],
    ['$.name.length', '"$.name.length" is not in result.json'],
    ['$.constructor', '"$.constructor" is not in result.json'],
    ['$..time', '"$..time" is more than one node of result.json; it must be exactly one'],
    ['$.limits', '"$.limits" in result.json is an object, which is no number'],
    ['$.parts', '"$.parts" in result.json is an array, which is no number'],
    ['$.nothing', '"$.nothing" in result.json is null, which is no number'],
    ['$.converged', '"$.converged" in result.json is true, which is no number'],
    ['$.limits.none', '"$.limits.none" in result.json is "abc", which is no number'],
    ['mass', 'the path must begin with "$"'],
  ])('are missing, as by %s', async (path, reason) =>
    expect(await readJson(path, DOCUMENT)).toEqual(missing(reason)),
  );

  it('are missing as texts when there is none, or it is too long', async () => {
    expect(await readJson('$.nothing', DOCUMENT, 'TEXT')).toEqual(
      missing('"$.nothing" in result.json is null, which is no text'),
    );
    expect(await readJson('$', JSON.stringify('a'.repeat(1001)), 'TEXT')).toEqual(
      missing('"$" in result.json has 1001 characters; a text has at most 1000'),
    );
  });

  it('are missing in a content that is no JSON', async () => {
    expect(await readJson('$.a', ' \n')).toEqual(missing('result.json is empty'));
    expect(await readJson('$.a', '{"a": -Infinity}')).toEqual(
      missing('result.json is no JSON: it has NaN or Infinity, which JSON has only as a text: "NaN"'),
    );
    const cut = await readJson('$.a', '{"a": 1');
    expect(cut).toEqual({
      kind: 'MISSING',
      reason: expect.stringMatching(/^result\.json is no JSON: .{5,200}$/),
    });
  });

  it('are missing where ".." would go too deep, and found there by names', async () => {
    const levels = 5000;
    const content = `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
    expect(await readJson('$..b', content)).toEqual(
      missing('result.json is nested too deeply for "$..b"; ".." goes 200 levels deep'),
    );
    expect(await readJson(`$${'.a'.repeat(400)}`, content)).toEqual(
      missing(`"$${'.a'.repeat(19)}."… in result.json is an object, which is no number`),
    );
  });

  it('are found among a million nodes, also by slices without an end', async () => {
    const content = JSON.stringify(Array.from({ length: 250_000 }, (_, id) => ({ id, square: id * id })));
    expect(await readJson('$[?@.id == 200000].square', content)).toEqual(number(4e10));
    expect(await readJson('$[249999:9007199254740991].id', content)).toEqual(number(249_999));
    expect(await readJson('$..none', content)).toEqual(missing('"$..none" is not in result.json'));
  });
});

describe('a JSON path', () => {
  const { jsonPathFault } = outputValues;

  it.each([
    '$',
    '$.a',
    '$.größe[0]',
    "$['a b'][-1]",
    '$..a[*].b',
    '$.a[1:5:2]',
    '$.a[?@.b]',
    "$.a[?@.b == 'x' || @['c'][0] < -1.5e3]",
    '$.a[?length(@.b) >= 2]',
  ])('may be %s', (path) => expect(jsonPathFault(path)).toBeUndefined());

  it.each([
    ['a.b', 'must begin with "$"'],
    ['$.a ', 'must not end with a blank'],
    ['$.a[', 'must be a JSON path (RFC 9535): unclosed bracketed selection, at character 5'],
    ['$..', 'must be a JSON path (RFC 9535): bald descendant segment, at character 4'],
    ['$.a[01]', 'must be a JSON path (RFC 9535): leading zero in index selector, at character 5'],
    ['$[?foo(@.a)]', "must be a JSON path (RFC 9535): no such function 'foo', at character 4"],
  ])('may not be %s', (path, fault) => expect(jsonPathFault(path)).toBe(fault));

  it.each([
    ['$..a..b', 'must have ".." at most once'],
    ["$['a','b']", 'must have one selector in each pair of brackets'],
    ['$.a[0,0][0,0]', 'must have one selector in each pair of brackets'],
    ["$[?match(@.a, '(a+)+')]", 'must not use match() in a filter'],
    ["$.a[0][?@.b && !search(@.a, '(a+)+$')]", 'must not use search() in a filter'],
    ['$[?count(@..*) > 1]', 'must not use count() in a filter'],
    ['$[?value(@.a) == 1]', 'must not use value() in a filter'],
    ['$[?@..b]', 'must have only paths of "@", names and indexes in a filter, such as @.id'],
    ['$[?@[?@.a]]', 'must have only paths of "@", names and indexes in a filter, such as @.id'],
    ['$[?@.a == $.b]', 'must have only paths of "@", names and indexes in a filter, such as @.id'],
    ['$[?length($.b) == 1]', 'must have only paths of "@", names and indexes in a filter, such as @.id'],
  ])('may not be %s, which could take long', (path, fault) => expect(jsonPathFault(path)).toBe(fault));
});

describe('values of a column', () => {
  const TABLE = lines('time,force,note', '0,1.5,start', '0.1,-2D0,"a, ""b"""', '0.2,4,end');

  it.each([
    ['FIRST', 1.5],
    ['LAST', 4],
    ['MIN', -2],
    ['MAX', 4],
    ['SUM', 3.5],
    ['COUNT', 3],
  ] as const)('have %s', async (take, value) =>
    expect(await readCsv({ take }, TABLE)).toEqual(number(value)),
  );

  it('have a mean, and single rows', async () => {
    expect(await readCsv({ take: 'MEAN' }, lines('force', '1', '2', '6'))).toEqual(number(3));
    expect(await readCsv({ take: { row: 1 } }, TABLE)).toEqual(number(-2));
  });

  it('are texts without their quotes', async () => {
    expect(await readCsv({ column: 'note', take: { row: 1 } }, TABLE, 'TEXT')).toEqual(text('a, "b"'));
    expect(await readCsv({ column: 'note', take: 'LAST' }, TABLE, 'TEXT')).toEqual(text('end'));
  });

  it.each(['MIN', 'MAX', 'MEAN', 'SUM'] as const)('make %s NaN when one of them is', async (take) =>
    expect(await readCsv({ take }, lines('force', '1', 'NaN', '-inf'))).toEqual(number(Number.NaN)),
  );

  it('may be infinite', async () => {
    expect(await readCsv({ take: 'MIN' }, lines('force', '1', '-Inf'))).toEqual(
      number(Number.NEGATIVE_INFINITY),
    );
  });

  it('are found behind a byte order mark, between line ends of any kind, without empty lines', async () => {
    const content = '\ufeffforce,time\r\n1,0\r\n\r\n2,1\n3,2\r\n\r\n';
    expect(await readCsv({ take: 'SUM' }, content)).toEqual(number(6));
    expect(await readCsv({ take: 'COUNT' }, content)).toEqual(number(3));
    expect(await readCsv({ take: 'LAST' }, 'force\r1\r2\r')).toEqual(number(2));
  });

  it('are found with blanks around cells and quotes inside of them', async () => {
    const content = lines(' time , "force" , note', '0 , 7 , 5" pipe');
    expect(await readCsv({}, content)).toEqual(number(7));
    expect(await readCsv({ column: 'note' }, content, 'TEXT')).toEqual(text('5" pipe'));
  });

  it('may have decimal commas', async () => {
    const german = { delimiter: ';', decimal: ',', take: 'SUM' } as const;
    expect(await readCsv(german, lines('zeit;force', '0;1,5', '1;2,25E1'))).toEqual(number(24));
    expect(await readCsv(german, lines('zeit;force', '0;1.5'))).toEqual(
      missing('row 0 of column force of result.csv is "1.5", which is no number'),
    );
  });

  it('may stand between tabs, some of them empty', async () => {
    const content = lines('time\tnote\tforce', '0\t\t3', '1\tx\t5\t');
    expect(await readCsv({ delimiter: '\t', take: 'SUM' }, content)).toEqual(number(8));
  });

  it('may have a number in a file without header', async () => {
    expect(await readCsv({ column: 1, take: 'SUM' }, lines('0,1', '1,2'))).toEqual(number(3));
    expect(await readCsv({ column: 0, take: 'COUNT' }, '')).toEqual(number(0));
  });

  it('count rows, whatever is in them', async () =>
    expect(await readCsv({ take: 'COUNT' }, lines('force', 'x', 'y'))).toEqual(number(2)));

  it.each([
    [
      'another column',
      { column: 'stress' },
      TABLE,
      'column stress is not in result.csv; it has time, force, note',
    ],
    [
      'another column among many',
      { column: 'stress' },
      Array.from({ length: 12 }, (_, index) => (index === 0 ? 'x'.repeat(50) : `c${index}`)).join(),
      `column stress is not in result.csv; it has "${'x'.repeat(40)}"…, c1, c2, c3, c4, c5, c6, c7, c8, c9 and 2 more`,
    ],
    ['an empty line', {}, ' \n', 'result.csv is empty; it has no header with the column force'],
    ['a file without content', {}, '', 'result.csv is empty; it has no header with the column force'],
    ['a header alone', {}, 'time,force\n', 'column force of result.csv is empty'],
    [
      'a header that has the column twice',
      {},
      lines('force,force', '1,2'),
      'column force is in the header of result.csv more than once',
    ],
    ['too few rows', { take: { row: 3 } }, TABLE, 'row 3 is not in result.csv; it has 3 rows, from 0'],
    [
      'a row that is cut off',
      { take: 'MAX' },
      lines('time,force', '0,1', '1'),
      'row 1 of result.csv has 1 cells, none for column force',
    ],
    [
      'a row without such a number',
      { column: 5 },
      lines('0,1'),
      'row 0 of result.csv has 2 cells, none for column 5',
    ],
    [
      'a decimal comma between commas',
      {},
      lines('time,force', '0,1,5'),
      'row 0 of result.csv has 3 cells, but the header has 2',
    ],
    [
      'a cell that is no number',
      { take: 'SUM' },
      lines('force', '1', 'failed'),
      'row 1 of column force of result.csv is "failed", which is no number',
    ],
    [
      'an empty cell',
      { take: 'MEAN' },
      lines('time,force', '0,'),
      'row 0 of column force of result.csv is empty',
    ],
    [
      'a quote without end',
      {},
      lines('time,force', '0,"1', '1,2'),
      'result.csv is no table of separated values: Quote Not Closed: the parsing is finished with an opening quote at line 3',
    ],
  ] satisfies [string, Partial<CsvReader>, string, string][])(
    'are missing by %s',
    async (_, reader, content, reason) => expect(await readCsv(reader, content)).toEqual(missing(reason)),
  );
});

describe('values of the table of a solver', () => {
  const TABLE = lines(
    '#   time      force  "contact area"',
    '  0.000E+00  1.5D-03   1.0',
    '\t1.000E+00  2.5D-03 \t 2.0  ',
    '',
  );
  const blanks = { delimiter: ' ', take: 'LAST' } as const;

  it('are found between runs of blanks and tabs, with the header as a comment', async () => {
    expect(await readCsv(blanks, TABLE)).toEqual(number(0.0025));
    expect(await readCsv({ ...blanks, take: 'COUNT' }, TABLE)).toEqual(number(2));
    expect(await readCsv({ ...blanks, column: 'contact area' }, TABLE)).toEqual(number(2));
  });

  it('are found by number without a header', async () =>
    expect(await readCsv({ ...blanks, column: 1, take: 'MAX' }, lines(' 0  1', ' 1  3', '   '))).toEqual(
      number(3),
    ));

  it('are missing where a row has other cells than the header', async () =>
    expect(await readCsv(blanks, lines('time force', '0 1', '1 ** 2'))).toEqual(
      missing('row 1 of result.csv has 3 cells, but the header has 2'),
    ));
});

describe('values by regular expression', () => {
  const LOG = lines(
    'step 1 energy = 1.5D+01 J',
    'step 2 energy = 2.5D+01 J',
    'warning: mesh is coarse',
    'total force',
    '',
    '   12.5',
  );

  it('are the first group of the first or last match', async () => {
    expect(await readLog('energy = (\\S+) (J)', LOG, 'FIRST')).toEqual(number(15));
    expect(await readLog('energy = (\\S+) (J)', LOG, 'LAST')).toEqual(number(25));
  });

  it('are the whole match of a pattern without groups', async () =>
    expect(await readLog('(?:mesh|grid) is \\w+', LOG, 'LAST', 'TEXT')).toEqual(text('mesh is coarse')));

  it('are found by bounds of lines, whatever ends them, and beyond one line', async () => {
    expect(await readLog('^warning: (.*)$', LOG.replaceAll('\n', '\r\n'), 'LAST', 'TEXT')).toEqual(
      text('mesh is coarse'),
    );
    expect(await readLog('^total force\\n\\n +(\\S+)$', LOG.replaceAll('\n', '\r\n'))).toEqual(number(12.5));
  });

  it('are the last of many matches as of few', async () => {
    const log = Array.from({ length: 1000 }, (_, step) => `step ${step} residual 1e-${step % 100} end`);
    expect(await readLog('residual (\\S+)', log.join('\n'))).toEqual(number(1e-99));
    expect(await readLog('\\d+', log.join('\n'))).toEqual(number(99));
    expect(await readLog('^step \\d+', log.join('\n'), 'LAST', 'TEXT')).toEqual(text('step 999'));
    expect(await readLog('\\d+', log.slice(0, 3).join('\n'))).toEqual(number(2));
  });

  it.each([
    ['few', 1],
    ['many', 100],
  ])('are missing when the first group has no part in the last of %s matches', async (_, count) =>
    expect(await readLog('a(\\d)|b', `${'a1 '.repeat(count)}b`)).toEqual(
      missing('the first group of the pattern has no part in its match in the log'),
    ),
  );

  it.each([
    ['pressure', 'the pattern matches nothing in the log'],
    ['mesh', 'the text that the pattern finds in the log is "mesh", which is no number'],
    ['energy =( )', 'the text that the pattern finds in the log is empty'],
    ['x*', 'the pattern must not match an empty text'],
  ])('are missing by %s', async (pattern, reason) =>
    expect(await readLog(pattern, LOG)).toEqual(missing(reason)),
  );

  it('are missing as texts when they are too long', async () =>
    expect(await readLog('a+', 'a'.repeat(1001), 'FIRST', 'TEXT')).toEqual(
      missing('the text that the pattern finds in the log has 1001 characters; a text has at most 1000'),
    ));

  it.each(['FIRST', 'LAST'] as const)(
    'end on patterns that take other engines forever, for the %s match',
    async (take) => {
      const log = 'a'.repeat(100_000);
      expect(await readLog('(a+)+$', `${log}!`, take)).toEqual(
        missing('the pattern matches nothing in the log'),
      );
      expect(await readLog('(?:a[^z]*z|a)', log, take, 'TEXT')).toEqual(text('a'));
    },
  );

  it('are missing when a large pattern meets a large text', async () =>
    expect(await readLog('x.{900}', 'a'.repeat(1_000_000))).toEqual(
      missing('the log has 1000000 characters; a pattern as long as this is looked for in at most 550055'),
    ));
});

describe('a regular expression', () => {
  const { patternFault } = outputValues;
  const RE2 = 'must be a regular expression of RE2, which has no look-around and no back-references';

  it.each(['a', '(?i)energy', '(?P<name>x)', '\\bx\\b', '\\w{1,300}', '[[:alpha:]]+', '\\Qa.b\\E'])(
    'may be %s',
    (pattern) => expect(patternFault(pattern)).toBeUndefined(),
  );

  it.each([
    ['(', `${RE2}: missing closing ): \`(\``],
    ['a)(b', `${RE2}: unexpected ): \`a)(b\``],
    ['a**', `${RE2}: invalid nested repetition operator: \`**\``],
    ['(?=a)', `${RE2}: invalid or unsupported Perl syntax: \`(?=\``],
    ['(a)\\1', `${RE2}: invalid escape sequence: \`\\1\``],
    ['.{900}.{900}', 'must be simpler: its repetitions take 1802 steps, at most 1000 are allowed'],
    ['a*', 'must not match an empty text'],
    ['^|a', 'must not match an empty text'],
  ])('may not be %s', (pattern, fault) => expect(patternFault(pattern)).toBe(fault));

  it.each([
    ['a{1000}'.repeat(140), 'counts'],
    ['(((a{10}){10}){10})'.repeat(50), 'counts within counts'],
    ['((){1000})'.repeat(90), 'counted groups of nothing'],
    ['(?:a{0,30}){0,80}', 'optional counts'],
    [`${'(?:a'.repeat(40)}${'){10}'.repeat(40)}`, 'counts beyond those of the engine'],
  ])('is not compiled with many repetitions: %#, %s', (pattern) =>
    expect(patternFault(pattern)).toBe(
      'must be simpler: its repetitions take more than 2000 steps, at most 1000 are allowed',
    ),
  );

  it.each([
    '^.{10}.{20}.{12}(.{12})',
    '\\d{4}-\\d{2}-\\d{2}T(?:\\d{2}:){2}\\d{2}',
    '\\Qa{1000}{1000}{1000}\\E',
    '[a{1000}]{500}[]{1000}]{400}',
    '\\{1000}\\x{41}{100}',
    `[${'é'.repeat(900)}]`,
    `${'energy|'.repeat(142)}x`.slice(0, 999),
    '\\pL\\p{N}\\P{Greek}[\\pL\\pN]+',
  ])('may have repetitions and classes as in %s', (pattern) => expect(patternFault(pattern)).toBeUndefined());

  it('has few classes of Unicode, which take long to compile', () => {
    const fault = 'must have at most 10 classes \\p{…}';
    expect(patternFault('\\pL'.repeat(11))).toBe(fault);
    expect(patternFault(`(?i)[${'\\p{L}\\PN'.repeat(6)}]`)).toBe(fault);
    expect(patternFault('\\\\p'.repeat(11))).toBeUndefined();
  });

  it('closes what it quotes', () => expect(patternFault('\\Qab')).toBe('must end by \\E what \\Q begins'));
});

describe('the rules about one content', () => {
  it('are read in their order, each by its own reader', async () => {
    const json = (path: string) => ruleOf({ kind: 'JSON_PATH', path }, 'result.json');
    const match = ruleOf({ kind: 'REGULAR_EXPRESSION', pattern: '"b": (\\d)', take: 'FIRST' }, 'result.json');
    const rules = [json('$.b'), match, json('$.c'), json('$.a')];
    expect(await outputValues.readValues(rules, Buffer.from('{"a": 1, "b": 2}'))).toEqual([
      number(2),
      number(2),
      missing('"$.c" is not in result.json'),
      number(1),
    ]);
    expect(await outputValues.readValues([], Buffer.from('x'))).toEqual([]);
  });
});
