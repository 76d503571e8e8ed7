/** A table of a file with separated values, as far as it has been read. */
import { fieldsOf, RecordCutter, type Separator, separatorOf } from './records.js';

/** Rows beyond this are not kept: browsers limit the height of what can be scrolled. */
export const MAX_ROWS = 500_000;
const MAX_COLUMNS = 200;
const MAX_CHARACTERS = 128 * 1024 * 1024;
const FIRST_CAPACITY = 1024;

export interface Column {
  readonly name: string;
  /** Numbers by row; NaN for what is none. */
  readonly numbers: Float64Array;
  /** Rows that have a number. */
  readonly count: number;
  /** Whether its numbers never fall, and every row has one. */
  readonly isAscending: boolean;
  /** Largest amount of its numbers; 0 without any. */
  readonly largest: number;
}

interface Growing {
  numbers: Float64Array;
  count: number;
  latest: number;
  largest: number;
  isAscending: boolean;
}

export class ValueTable {
  readonly #cutter = new RecordCutter();
  readonly #rows: string[] = [];
  readonly #columns: Growing[] = [];
  #names: readonly string[] = [];
  #separator: Separator | undefined;
  #characters = 0;
  #isCut = false;
  #hiddenColumns = 0;

  /** Takes the next part of the text; false once no more is kept. */
  push(text: string): boolean {
    this.#characters += text.length;
    for (const record of this.#cutter.push(text)) if (!this.#add(record)) return false;
    if (this.#characters > MAX_CHARACTERS) this.#isCut = true;
    return !this.#isCut;
  }

  end(): void {
    for (const record of this.#cutter.end()) this.#add(record);
  }

  get names(): readonly string[] {
    return this.#names;
  }

  get rowCount(): number {
    return this.#rows.length;
  }

  /** Whether there are more rows than are kept. */
  get isCut(): boolean {
    return this.#isCut;
  }

  /** Columns beyond those that are shown. */
  get hiddenColumns(): number {
    return this.#hiddenColumns;
  }

  /** Fields of a row as they are written. */
  row(index: number): readonly string[] {
    const record = this.#rows[index];
    return record === undefined ? [] : fieldsOf(record, this.#separator ?? ',');
  }

  column(index: number): Column {
    const { numbers, count, isAscending, largest } = this.#columns[index] as Growing;
    return {
      name: this.#names[index] ?? '',
      numbers: numbers.subarray(0, this.#rows.length),
      count,
      largest,
      isAscending: isAscending && count === this.#rows.length,
    };
  }

  #add(record: string): boolean {
    if (this.#separator === undefined) {
      if (record.trim() === '') return true;
      this.#begin(record.replace(/^\uFEFF/, ''));
      return true;
    }
    if (record === '') return true;
    if (this.#rows.length >= MAX_ROWS) {
      this.#isCut = true;
      return false;
    }
    const fields = fieldsOf(record, this.#separator);
    const row = this.#rows.push(record) - 1;
    for (let at = 0; at < this.#columns.length; at++)
      keep(this.#columns[at] as Growing, row, fields[at] ?? '');
    return true;
  }

  /** Takes the first record as names, unless all of it are numbers: then columns are numbered. */
  #begin(record: string): void {
    this.#separator = separatorOf(record);
    const fields = fieldsOf(record, this.#separator);
    const hasNames = !fields.every((field) => !Number.isNaN(numberOf(field)));
    this.#hiddenColumns = Math.max(0, fields.length - MAX_COLUMNS);
    const shown = fields.slice(0, MAX_COLUMNS);
    this.#names = shown.map((field, at) => (hasNames && field.trim() !== '' ? field.trim() : `#${at + 1}`));
    for (let at = 0; at < shown.length; at++) {
      this.#columns.push({
        numbers: new Float64Array(FIRST_CAPACITY),
        count: 0,
        latest: Number.NEGATIVE_INFINITY,
        largest: 0,
        isAscending: true,
      });
    }
    if (!hasNames) this.#add(record);
  }
}

function keep(column: Growing, row: number, field: string): void {
  if (row >= column.numbers.length) {
    const larger = new Float64Array(column.numbers.length * 2);
    larger.set(column.numbers);
    column.numbers = larger;
  }
  const value = numberOf(field);
  column.numbers[row] = value;
  if (!Number.isFinite(value)) return;
  column.count++;
  if (value < column.latest) column.isAscending = false;
  column.latest = value;
  column.largest = Math.max(column.largest, Math.abs(value));
}

/** Number that a field is; NaN for none. */
function numberOf(field: string): number {
  const text = field.trim();
  return text === '' ? Number.NaN : Number(text);
}
