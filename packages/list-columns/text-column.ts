/** At most one text for each row of a segment, in the most compact form. */
import { TextPattern } from './text-pattern.js';
import { type PackedTexts, type Texts, TextsBuilder, unpacked } from './texts.js';
import { packUuid, UUID_BYTES, UuidPattern } from './uuids.js';

/** Rows of a segment: tasks whose `seq` lies in one range of this length. */
export const SEGMENT_ROWS = 4096;

/** A finished column. */
export type TextColumn =
  | { readonly form: 'none' }
  /** 16 bytes a row; undefined for rows without a task. */
  | { readonly form: 'uuids'; readonly bytes: Uint8Array<ArrayBuffer> }
  /** Few distinct texts: each row has the number of its text, counted from 1, or 0 for none. */
  | { readonly form: 'few'; readonly numbers: Uint8Array<ArrayBuffer>; readonly texts: PackedTexts }
  | { readonly form: 'texts'; readonly texts: PackedTexts };

/** Numbers that fit into one byte. */
const FEW = 255;

/** Scratch memory of a search; a thread does one search at a time. */
const starts = new Uint32Array(SEGMENT_ROWS + 1);

/** A pattern with the wildcards `*` and `?`, prepared for the forms of columns. */
export class ColumnPattern {
  readonly #texts: TextPattern;
  readonly #pattern: string;
  #uuids: UuidPattern | undefined;

  constructor(pattern: string) {
    this.#pattern = pattern;
    this.#texts = new TextPattern(pattern);
  }

  /** Keeps at the front those of the first `count` ascending rows whose whole text matches; returns their number. */
  keep(column: TextColumn | Texts, rows: Uint16Array, count: number): number {
    if (!('form' in column)) return this.#texts.keep(column, rows, count);
    switch (column.form) {
      case 'none':
        return 0;
      case 'uuids':
        this.#uuids ??= new UuidPattern(this.#pattern);
        return this.#uuids.keep(column.bytes, rows, count);
      case 'few':
        return this.#keepNumbered(column.numbers, unpacked(column.texts, starts), rows, count);
      case 'texts':
        return this.#texts.keep(unpacked(column.texts, starts), rows, count);
    }
  }

  #keepNumbered(numbers: Uint8Array, texts: Texts, rows: Uint16Array, count: number): number {
    const matching = Uint16Array.from(texts.lengths.keys());
    const matches = this.#texts.keep(texts, matching, matching.length);
    const wanted = new Uint8Array(FEW + 1);
    for (const number of matching.subarray(0, matches)) wanted[number + 1] = 1;
    let kept = 0;
    for (let candidate = 0; candidate < count; candidate++) {
      const row = rows[candidate] as number;
      rows[kept] = row;
      kept += wanted[numbers[row] as number] as number;
    }
    return kept;
  }
}

/** Collects the texts of one segment after the other. */
export class TextColumnBuilder {
  readonly #ofEveryTask: boolean;
  readonly #texts = new TextsBuilder(SEGMENT_ROWS);
  #numbers = new Uint8Array(SEGMENT_ROWS);
  #known = new Map<string, number>();

  /** @param ofEveryTask Each row with a task has a text. */
  constructor({ ofEveryTask }: { ofEveryTask: boolean }) {
    this.#ofEveryTask = ofEveryTask;
  }

  /** Sets the text of a row. Rows are given in ascending order; rows left out have no text. */
  append(row: number, text: string | null): void {
    if (text === null) return;
    this.#texts.append(row, text);
    if (this.#known.size > FEW) return;
    const number = this.#known.get(text) ?? this.#known.size + 1;
    this.#known.set(text, number);
    this.#numbers[row] = number;
  }

  /** View of the texts so far; later rows change it. */
  texts(): Texts {
    return this.#texts.texts();
  }

  /** Takes the finished column and starts that of the next segment. */
  take(): TextColumn {
    const column = this.#column();
    this.#texts.clear();
    this.#known.clear();
    if (column.form === 'few') this.#numbers = new Uint8Array(SEGMENT_ROWS);
    else this.#numbers.fill(0);
    return column;
  }

  #column(): TextColumn {
    if (this.#known.size === 0) return { form: 'none' };
    if (this.#known.size <= FEW) {
      const texts = new TextsBuilder(this.#known.size);
      for (const [text, number] of this.#known) texts.append(number - 1, text);
      return { form: 'few', numbers: this.#numbers, texts: texts.packed() };
    }
    const bytes = this.#ofEveryTask ? this.#uuids() : undefined;
    return bytes ? { form: 'uuids', bytes } : { form: 'texts', texts: this.#texts.packed() };
  }

  /** Undefined when a text is no UUID. */
  #uuids(): Uint8Array<ArrayBuffer> | undefined {
    const { units, starts, lengths } = this.#texts.texts();
    const bytes = new Uint8Array(SEGMENT_ROWS * UUID_BYTES);
    for (let row = 0; row < SEGMENT_ROWS; row++) {
      if (lengths[row] === 0) continue;
      const start = starts[row] as number;
      if (!packUuid(units, start, starts[row + 1] as number, bytes, row * UUID_BYTES)) return undefined;
    }
    return bytes;
  }
}
