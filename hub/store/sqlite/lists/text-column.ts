/** One text for each row of a segment, or none, in the form that takes least memory. */
import { TextPattern } from './text-pattern.js';
import { type PackedTexts, type Texts, TextsBuilder, unpacked } from './texts.js';
import { packUuid, UUID_BYTES, UuidPattern } from './uuids.js';

/** Tasks whose `seq` falls into one range of this length share a segment, which goes when its last task goes. */
export const SEGMENT_ROWS = 4096;

/** A column that changes no more. */
export type TextColumn =
  | { readonly form: 'none' }
  /** 16 bytes a row, for identifiers as the hub makes them. What rows without a task have is not said. */
  | { readonly form: 'uuids'; readonly bytes: Uint8Array<ArrayBuffer> }
  /** Few texts that many rows have: the number of its text for each row, counted from 1; 0 for none. */
  | { readonly form: 'few'; readonly numbers: Uint8Array<ArrayBuffer>; readonly texts: PackedTexts }
  | { readonly form: 'texts'; readonly texts: PackedTexts };

/** As many as have a number in one byte. */
const FEW = 255;

/** What a search needs for a while; a thread does one search at a time. */
const starts = new Uint32Array(SEGMENT_ROWS + 1);

/** A text with the wildcards `*` and `?` that is sought in one column after the other. */
export class ColumnPattern {
  readonly #texts: TextPattern;
  readonly #pattern: string;
  #uuids: UuidPattern | undefined;

  constructor(pattern: string) {
    this.#pattern = pattern;
    this.#texts = new TextPattern(pattern);
  }

  /** Of the first `count` of these rows, which ascend, keeps those whose text matches as a whole, at the front; gives how
   *  many they are. */
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

/** Takes in the texts of one segment after the other. */
export class TextColumnBuilder {
  readonly #ofEveryTask: boolean;
  readonly #texts = new TextsBuilder(SEGMENT_ROWS);
  #numbers = new Uint8Array(SEGMENT_ROWS);
  #known = new Map<string, number>();

  /** @param ofEveryTask Each row with a task has a text. */
  constructor({ ofEveryTask }: { ofEveryTask: boolean }) {
    this.#ofEveryTask = ofEveryTask;
  }

  /** Sets the text of a row. Rows come in ascending order; those left out have none. */
  append(row: number, text: string | null): void {
    if (text === null) return;
    this.#texts.append(row, text);
    if (this.#known.size > FEW) return;
    const number = this.#known.get(text) ?? this.#known.size + 1;
    this.#known.set(text, number);
    this.#numbers[row] = number;
  }

  /** What there is so far: what comes later may change it. */
  texts(): Texts {
    return this.#texts.texts();
  }

  /** Gives the column, and begins with that of the next segment. */
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

  /** Undefined when one is not of that kind. */
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
