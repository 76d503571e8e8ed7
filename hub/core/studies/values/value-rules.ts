/** Values of a study: rules by which named numbers and texts are read out of the outputs of a job. */

import { filenameFault } from '../../batch-job.js';
import type { ValidationError } from '../../errors.js';

/** Source of a value; the path is that of an output file. */
export type ValueSource = { readonly kind: 'FILE'; readonly path: string } | { readonly kind: 'LOG' };

/** Rows of a column that make the value; `row` counts from 0, after the header. */
export type CsvTake = 'FIRST' | 'LAST' | 'MIN' | 'MAX' | 'MEAN' | 'SUM' | 'COUNT' | { readonly row: number };

/** Reader of one column of a table. */
export interface CsvReader {
  readonly kind: 'CSV';
  /** Name in the header, or number from 0 in a file without header. */
  readonly column: string | number;
  readonly take: CsvTake;
  /** A blank means any run of blanks and tabs, as in the tables of solvers. */
  readonly delimiter: ',' | ';' | '\t' | ' ';
  readonly decimal: '.' | ',';
}

/** Reader of the one node that a JSON path (RFC 9535) leads to. */
export interface JsonPathReader {
  readonly kind: 'JSON_PATH';
  readonly path: string;
}

/** Reader of the first group of a match, or of the whole match of a pattern without groups; `^` and `$` are bounds of lines. */
export interface PatternReader {
  readonly kind: 'REGULAR_EXPRESSION';
  readonly pattern: string;
  readonly take: 'FIRST' | 'LAST';
}

export type ValueReader = JsonPathReader | CsvReader | PatternReader;

export interface ValueRule {
  readonly name: string;
  readonly unit: string | null;
  readonly kind: 'NUMBER' | 'TEXT';
  readonly source: ValueSource;
  readonly reader: ValueReader;
}

/** Checks of languages that have parsers of their own; each gives the fault, written as "must …", or undefined for none. */
export interface ReaderSyntax {
  jsonPathFault(path: string): string | undefined;
  patternFault(pattern: string): string | undefined;
}

export const MAX_VALUES = 100;
export const MAX_VALUE_NAME_LENGTH = 64;
const MAX_UNIT_LENGTH = 64;
const MAX_JSON_PATH_LENGTH = 1000;
const MAX_PATTERN_LENGTH = 1000;
const MAX_COLUMN_LENGTH = 200;

/** Validation errors of the rules of a study. `takenNames` are those of its variables, and of the other columns of its table. */
export function valueRuleFaults(
  rules: readonly ValueRule[],
  takenNames: ReadonlySet<string>,
  syntax: ReaderSyntax,
): ValidationError[] {
  if (rules.length > MAX_VALUES) return [{ where: 'values', what: `must be at most ${MAX_VALUES}` }];
  const seen = new Set<string>();
  return rules.flatMap((rule, index) => {
    const name = nameFault(rule.name, seen, takenNames);
    seen.add(rule.name);
    return [
      ...faultAt('name', name),
      ...faultAt('unit', rule.unit === null ? undefined : textFault(rule.unit, MAX_UNIT_LENGTH)),
      ...faultAt('source.path', rule.source.kind === 'FILE' ? filenameFault(rule.source.path) : undefined),
      ...readerFaults(rule, syntax),
    ].map(({ where, what }) => ({ where: `values[${index}].${where}`, what }));
  });
}

function faultAt(where: string, what: string | undefined): ValidationError[] {
  return what === undefined ? [] : [{ where, what }];
}

function nameFault(
  name: string,
  seen: ReadonlySet<string>,
  takenNames: ReadonlySet<string>,
): string | undefined {
  if (name.length > MAX_VALUE_NAME_LENGTH) return `must have at most ${MAX_VALUE_NAME_LENGTH} characters`;
  if (!/^[\p{L}_][\p{L}\p{M}\p{N}_.-]*$/u.test(name)) {
    return 'must be letters, digits, "_", "-" and ".", with a letter or "_" first';
  }
  if (seen.has(name)) return 'is given more than once';
  if (takenNames.has(name)) return 'is the name of a variable or of another column already';
  return undefined;
}

function readerFaults({ kind, reader }: ValueRule, syntax: ReaderSyntax): ValidationError[] {
  switch (reader.kind) {
    case 'JSON_PATH':
      return faultAt(
        'reader.path',
        lengthFault(reader.path, MAX_JSON_PATH_LENGTH) ?? syntax.jsonPathFault(reader.path),
      );
    case 'REGULAR_EXPRESSION':
      return faultAt(
        'reader.pattern',
        lengthFault(reader.pattern, MAX_PATTERN_LENGTH) ?? syntax.patternFault(reader.pattern),
      );
    case 'CSV':
      return [
        ...faultAt('reader.column', columnFault(reader.column)),
        ...faultAt('reader.take', takeFault(reader.take, kind)),
        ...faultAt(
          'reader.decimal',
          reader.decimal === reader.delimiter ? 'must not be the delimiter as well' : undefined,
        ),
      ];
  }
}

function columnFault(column: string | number): string | undefined {
  return typeof column === 'number' ? numberFault(column) : textFault(column, MAX_COLUMN_LENGTH);
}

function takeFault(take: CsvTake, kind: ValueRule['kind']): string | undefined {
  if (typeof take === 'object') return numberFault(take.row);
  if (kind === 'NUMBER' || take === 'FIRST' || take === 'LAST') return undefined;
  return `must be FIRST, LAST or a row for a text; ${take} is for numbers`;
}

function numberFault(number: number): string | undefined {
  return Number.isSafeInteger(number) && number >= 0 ? undefined : 'must be a whole number, counted from 0';
}

function textFault(text: string, maxLength: number): string | undefined {
  const fault = lengthFault(text, maxLength);
  if (fault !== undefined) return fault;
  if (text.trim() !== text) return 'must not begin or end with a blank';
  return /\p{Cc}/u.test(text) ? 'must not contain control characters' : undefined;
}

function lengthFault(text: string, maxLength: number): string | undefined {
  if (text === '') return 'must not be empty';
  return text.length > maxLength ? `must have at most ${maxLength} characters` : undefined;
}
