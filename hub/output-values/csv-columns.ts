/** Columns of tables: files with separated values, and the tables of solvers. */

import { CsvError, parse } from 'csv-parse/sync';
import {
  type MissingValue,
  missing,
  quoted,
  type ReadValue,
  sourceName,
  valueOfText,
} from '../core/studies/values/read-value.js';
import type { CsvReader, ValueRule } from '../core/studies/values/value-rules.js';

/** Rows with their cells, the header included, without empty rows. */
export type Table = readonly (readonly string[])[];

/** Names of columns that a reason lists. */
const MAX_COLUMNS_SHOWN = 10;

interface Column {
  /** Name in a sentence: `column force of result.csv`. */
  readonly label: string;
  readonly source: string;
  readonly index: number;
  /** Cells of the header; null in a file without one. */
  readonly header: readonly string[] | null;
  readonly rows: Table;
  readonly reader: CsvReader;
}

/** Cells of a content without byte order mark. */
export function parseTable(
  content: string,
  delimiter: CsvReader['delimiter'],
  source: string,
): { readonly table: Table } | MissingValue {
  try {
    const rows: string[][] = parse(content, {
      delimiter: delimiter === ' ' ? [' ', '\t'] : delimiter,
      record_delimiter: ['\r\n', '\n', '\r'],
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
      trim: true,
    });
    if (delimiter !== ' ') return { table: rows };
    const cells = rows.map((row) => row.filter((cell) => cell !== ''));
    return { table: cells.filter((row) => row.length > 0) };
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    return missing(`${source} is no table of separated values: ${error.message.slice(0, 200)}`);
  }
}

/** Value of a rule about a table. */
export function readColumn(rule: ValueRule, reader: CsvReader, table: Table): ReadValue {
  const column = findColumn(reader, table, sourceName(rule.source));
  if ('kind' in column) return column;
  const { take } = reader;
  if (take === 'COUNT') return { kind: 'NUMBER', value: column.rows.length };
  if (column.rows.length === 0) return missing(`${column.label} is empty`);
  if (take === 'FIRST') return valueInRow(rule.kind, column, 0);
  if (take === 'LAST') return valueInRow(rule.kind, column, column.rows.length - 1);
  if (typeof take === 'object') return valueInRow(rule.kind, column, take.row);
  const numbers = numbersOf(column);
  return 'kind' in numbers ? numbers : { kind: 'NUMBER', value: combined(numbers, take) };
}

function findColumn(reader: CsvReader, table: Table, source: string): Column | MissingValue {
  const { column, delimiter } = reader;
  const label = `column ${column} of ${source}`;
  if (typeof column === 'number') return { label, source, index: column, header: null, rows: table, reader };
  const [first, ...rows] = table;
  if (first === undefined) return missing(`${source} is empty; it has no header with the column ${column}`);
  // Tables of solvers mark the header as a comment: "# time force".
  const header = delimiter === ' ' && first[0] === '#' ? first.slice(1) : first;
  const index = header.indexOf(column);
  if (index < 0) return missing(`column ${column} is not in ${source}; it has ${listed(header)}`);
  if (header.includes(column, index + 1)) {
    return missing(`column ${column} is in the header of ${source} more than once`);
  }
  return { label, source, index, header, rows, reader };
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, MAX_COLUMNS_SHOWN).map((name) => (name.length > 40 ? quoted(name) : name));
  const more = names.length - shown.length;
  return shown.join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** Text of a cell; `index` counts the rows from 0, after the header. */
function cellOf({ source, index: at, header, rows, reader }: Column, index: number): string | MissingValue {
  const row = rows[index];
  if (row === undefined)
    return missing(`row ${index} is not in ${source}; it has ${rows.length} rows, from 0`);
  const counts = `row ${index} of ${source} has ${row.length} cells`;
  // Cells beyond the header, or one too few between blanks, mean that others are not below their names.
  const isShifted =
    header !== null &&
    (reader.delimiter === ' '
      ? row.length !== header.length
      : row.length > header.length && row.slice(header.length).some((cell) => cell !== ''));
  if (isShifted) return missing(`${counts}, but the header has ${header.length}`);
  return row[at] ?? missing(`${counts}, none for column ${reader.column}`);
}

function valueInRow(kind: ValueRule['kind'], column: Column, index: number): ReadValue {
  const cell = cellOf(column, index);
  if (typeof cell !== 'string') return cell;
  return valueOfText(kind, cell, placeOf(column, index), column.reader.decimal);
}

function placeOf(column: Column, index: number): string {
  return `row ${index} of ${column.label}`;
}

function numbersOf(column: Column): readonly number[] | MissingValue {
  const numbers: number[] = [];
  for (let index = 0; index < column.rows.length; index++) {
    const cell = cellOf(column, index);
    if (typeof cell !== 'string') return cell;
    const value = valueOfText('NUMBER', cell, placeOf(column, index), column.reader.decimal);
    if (value.kind === 'MISSING') return value;
    if (value.kind === 'NUMBER') numbers.push(value.value);
  }
  return numbers;
}

/** Combination of at least one number; a NaN makes it NaN. */
function combined(numbers: readonly number[], take: 'MIN' | 'MAX' | 'MEAN' | 'SUM'): number {
  const sum = () => numbers.reduce((total, number) => total + number, 0);
  switch (take) {
    case 'MIN':
      return numbers.reduce((least, number) => Math.min(least, number));
    case 'MAX':
      return numbers.reduce((most, number) => Math.max(most, number));
    case 'SUM':
      return sum();
    case 'MEAN':
      return sum() / numbers.length;
  }
}
