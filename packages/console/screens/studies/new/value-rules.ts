/** Rules that read values: offers from the outputs of a job that ran, and rules that are typed. */
import { endingOf } from '../../task/preview/kind.js';
import { separatorOf } from '../../task/preview/records.js';
import { ValueTable } from '../../task/preview/value-table.js';
import { TAKES, type Take, type ValueRule } from './study-draft.js';

/** A number in an output of a job that ran. */
export interface ValueOffer {
  readonly key: string;
  /** Path of the file. */
  readonly path: string;
  /** Heading of a column, or a JSON path. */
  readonly label: string;
  /** Name of the value, but for what is taken of a column. */
  readonly name: string;
  readonly reader:
    | { readonly kind: 'JSON_PATH'; readonly path: string }
    | { readonly kind: 'CSV'; readonly column: string | number; readonly delimiter: ',' | ';' | '\t' };
  /** Number that the rule reads of the job that ran; LAST for one at a JSON path. */
  readonly found: Readonly<Partial<Record<Take, number>>>;
}

const MAX_OFFERS_OF_A_FILE = 100;
/** Longest list whose numbers are offered one by one. */
const LONGEST_LIST = 10;
const MAX_NAME_LENGTH = 64;

/** Numbers in a file, by the ending of its name; none in one that cannot be read. */
export function offersIn(path: string, text: string): readonly ValueOffer[] {
  const offers = endingOf(path) === 'json' ? offersOfJson(path, text) : offersOfTable(path, text);
  return offers.slice(0, MAX_OFFERS_OF_A_FILE);
}

function offersOfTable(path: string, text: string): ValueOffer[] {
  const table = new ValueTable();
  table.push(text);
  table.end();
  const delimiter = separatorOf(
    text
      .replace(/^\uFEFF/, '')
      .trimStart()
      .split('\n', 1)[0] ?? '',
  );
  return table.names.flatMap((label, at) => {
    const { numbers, count } = table.column(at);
    if (count === 0) return [];
    const hasName = !/^#\d+$/.test(label);
    const found = takenOf(numbers.filter((number) => Number.isFinite(number)));
    const reader = { kind: 'CSV' as const, column: hasName ? label : at, delimiter };
    return [
      { key: `${path} ${at}`, path, label, name: nameFrom(hasName ? label : `column${at}`), reader, found },
    ];
  });
}

function takenOf(numbers: Float64Array): ValueOffer['found'] {
  let [low, high, sum] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0];
  for (const number of numbers) {
    low = Math.min(low, number);
    high = Math.max(high, number);
    sum += number;
  }
  const { length: count } = numbers;
  const [first = 0, last = 0] = [numbers[0], numbers[count - 1]];
  return { FIRST: first, LAST: last, MIN: low, MAX: high, MEAN: sum / count, SUM: sum, COUNT: count };
}

function offersOfJson(path: string, text: string): ValueOffer[] {
  try {
    return numbersIn(JSON.parse(text), '$', '').map(({ at, name, number }) => {
      const reader = { kind: 'JSON_PATH' as const, path: at };
      return { key: `${path} ${at}`, path, label: at, name: nameFrom(name), reader, found: { LAST: number } };
    });
  } catch {
    return [];
  }
}

interface FoundNumber {
  /** JSON path. */
  readonly at: string;
  readonly name: string;
  readonly number: number;
}

/** Numbers in a part of a JSON text. */
function numbersIn(node: unknown, at: string, name: string): FoundNumber[] {
  if (typeof node === 'number') return [{ at, name, number: node }];
  if (Array.isArray(node)) {
    const items = node.length <= LONGEST_LIST ? node : [];
    return items.flatMap((each, index) => numbersIn(each, `${at}[${index}]`, `${name}_${index}`));
  }
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node).flatMap(([key, each]) =>
    numbersIn(each, at + stepTo(key), name === '' ? key : `${name}.${key}`),
  );
}

/** Step of a JSON path to a member. */
function stepTo(key: string): string {
  if (/^[A-Za-z_]\w*$/.test(key)) return `.${key}`;
  return `['${key.replaceAll(/['\\]/g, '\\$&')}']`;
}

/** A name that the hub takes, made of a text. */
function nameFrom(text: string): string {
  const name = text.replaceAll(/[^\p{L}\p{M}\p{N}_.-]+/gu, '_').replace(/^(?![\p{L}_])/u, '_');
  return name.slice(0, MAX_NAME_LENGTH);
}

/** Rules of offers with what is taken of each, and rules that were typed; a name that is taken gets a number. */
export function rulesOf(
  wanted: readonly (readonly [offer: ValueOffer, take: Take])[],
  typed: readonly ValueRule[],
  variableNames: readonly string[],
): ValueRule[] {
  const names = new Set([...variableNames, ...typed.map(({ name }) => name)]);
  const offered = wanted.map(([{ path, name, reader }, take]): ValueRule => {
    const source = { kind: 'FILE' as const, path };
    const wish = reader.kind === 'CSV' && take !== 'LAST' ? `${name}_${take.toLowerCase()}` : name;
    const free = freeName(wish, names);
    names.add(free);
    return { name: free, source, reader: reader.kind === 'CSV' ? { ...reader, take } : reader };
  });
  return [...offered, ...typed];
}

function freeName(wish: string, names: ReadonlySet<string>): string {
  let name = wish.slice(0, MAX_NAME_LENGTH);
  for (let number = 2; names.has(name); number++)
    name = `${wish.slice(0, MAX_NAME_LENGTH - 1 - String(number).length)}_${number}`;
  return name;
}

const RULE = /^(?<name>[^=]+)=(?<file>[^#~:;]+)(?<sign>[#~:;])(?<rest>.+)$/s;

/** The rule that a text such as `force=motion.csv:force:max` says, as `wb study run --value` takes it; undefined for none. */
export function ruleOf(text: string): ValueRule | undefined {
  const { name = '', file = '', sign, rest = '' } = RULE.exec(text.trim())?.groups ?? {};
  if (sign === undefined) return undefined;
  const source = file === 'log' ? { kind: 'LOG' as const } : { kind: 'FILE' as const, path: file };
  if (sign === '#') return { name, source, reader: { kind: 'JSON_PATH', path: rest } };
  if (sign === '~') return { name, source, reader: { kind: 'REGULAR_EXPRESSION', pattern: rest } };
  const at = rest.lastIndexOf(sign);
  const [column, wish] = at < 0 ? [rest, 'last'] : [rest.slice(0, at), rest.slice(at + 1)];
  const take = TAKES.find((each) => each === wish.toUpperCase());
  if (take === undefined) return undefined;
  const named = /^\d+$/.test(column) ? Number(column) : column;
  return {
    name,
    source,
    reader: { kind: 'CSV', column: named, take, ...(sign === ';' ? { delimiter: ';' as const } : {}) },
  };
}
