/** The texts of the tasks of a segment, and which of its tasks a filter of texts lets through. */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { ColumnPattern, SEGMENT_ROWS, type TextColumn, TextColumnBuilder } from './text-column.js';
import type { Texts } from './texts.js';

/** The texts of a segment to which no more tasks come. They never change. */
export interface SegmentTexts {
  readonly ids: TextColumn;
  /** Without regard to case. */
  readonly names: TextColumn;
  readonly creators: TextColumn;
}

/** Patterns with the wildcards `*` and `?`. */
export interface TextFilter {
  readonly id?: string | undefined;
  /** Whatever the case. */
  readonly name?: string | undefined;
  readonly creator?: string | undefined;
}

/** A bit for each row of a segment, that of the first in the lowest place of the first byte. */
export type RowBits = Uint8Array<ArrayBuffer>;

const ROW_BITS_BYTES = SEGMENT_ROWS / 8;

/** In this order the first takes least time, and leaves less to the others. */
const COLUMNS = ['creators', 'names', 'ids'] as const;
type Column = (typeof COLUMNS)[number];

/** Takes in the texts of the segment that still grows. */
export class SegmentTextsBuilder {
  readonly #columns: Readonly<Record<Column, TextColumnBuilder>> = {
    ids: new TextColumnBuilder({ ofEveryTask: true }),
    names: new TextColumnBuilder({ ofEveryTask: false }),
    creators: new TextColumnBuilder({ ofEveryTask: false }),
  };

  append(
    row: number,
    { id, name, creator }: { id: string; name: string | null; creator: string | null },
  ): void {
    this.#columns.ids.append(row, id);
    this.#columns.names.append(row, name === null ? null : withoutCase(name));
    this.#columns.creators.append(row, creator);
  }

  /** What there is so far: what comes later may change it. */
  texts(): Readonly<Record<Column, Texts>> {
    const { ids, names, creators } = this.#columns;
    return { ids: ids.texts(), names: names.texts(), creators: creators.texts() };
  }

  /** Gives the texts, and begins with those of the next segment. */
  take(): SegmentTexts {
    const { ids, names, creators } = this.#columns;
    return { ids: ids.take(), names: names.take(), creators: creators.take() };
  }
}

/** In lower case, with one sigma: which of its two forms the Greek letter gets depends on what stands beside it, and in a
 *  pattern that is something else. */
function withoutCase(name: string): string {
  return name.toLowerCase().replaceAll('ς', 'σ');
}

const ALL_ROWS = Uint16Array.from({ length: SEGMENT_ROWS }, (_, row) => row);

export class TextSearch {
  readonly #patterns: readonly (readonly [Column, ColumnPattern])[];
  readonly #rows = new Uint16Array(SEGMENT_ROWS);

  constructor({ id, name, creator }: TextFilter) {
    const patterns = {
      creators: creator,
      names: name === undefined ? undefined : withoutCase(name),
      ids: id,
    };
    this.#patterns = COLUMNS.flatMap((column) => {
      const pattern = patterns[column];
      return pattern === undefined ? [] : [[column, new ColumnPattern(pattern)] as const];
    });
  }

  /** Rows of tasks that fit. What is said of rows without a task means nothing. */
  in(texts: Readonly<Record<Column, TextColumn | Texts>>): RowBits {
    const bits = noRows();
    this.addFrom(texts, { from: 0, to: SEGMENT_ROWS }, bits);
    return bits;
  }

  /** Sets the bits of those that fit among the rows from one up to another, which is not included. */
  addFrom(
    texts: Readonly<Record<Column, TextColumn | Texts>>,
    { from, to }: { readonly from: number; readonly to: number },
    bits: RowBits,
  ): void {
    const rows = this.#rows;
    rows.set(ALL_ROWS.subarray(from, to));
    let count = to - from;
    for (const [column, pattern] of this.#patterns) {
      if (count > 0) count = pattern.keep(texts[column], rows, count);
    }
    if (count === SEGMENT_ROWS) {
      bits.fill(0xff);
      return;
    }
    for (let at = 0; at < count; at++) {
      const row = rows[at] as number;
      bits[row >> 3] = (bits[row >> 3] as number) | (1 << (row & 7));
    }
  }
}

export function noRows(): RowBits {
  return new Uint8Array(ROW_BITS_BYTES);
}

/** As many filters are kept ready for the next segments: to prepare the search for a pattern may take milliseconds. */
const SEARCHES_KEPT = 16;

/** Searches that were made ready lately, each by its filter. */
export class TextSearches {
  readonly #kept = new Map<string, TextSearch>();

  by(filter: TextFilter): TextSearch {
    const key = JSON.stringify([filter.id ?? null, filter.name ?? null, filter.creator ?? null]);
    const search = this.#kept.get(key) ?? new TextSearch(filter);
    this.#kept.delete(key);
    this.#kept.set(key, search);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > SEARCHES_KEPT && oldest !== undefined) this.#kept.delete(oldest);
    return search;
  }
}

/** How long a thread searches without looking for other work: most searches in a million names are done by then. */
const TURN_MS = 40;

/** Searches one of these texts after the other until the turn is over, and in one at least. */
export function searchForOneTurn(search: TextSearch, texts: Iterable<SegmentTexts>, clock: Clock): RowBits[] {
  const began = clock.monotonicMs();
  const found: RowBits[] = [];
  for (const each of texts) {
    found.push(search.in(each));
    if (clock.monotonicMs() - began >= TURN_MS) break;
  }
  return found;
}

/** What is handed over with the texts to another thread, instead of being copied. */
export function buffersOf({ ids, names, creators }: SegmentTexts): ArrayBuffer[] {
  return [ids, names, creators].flatMap((column) => [
    ...(column.form === 'uuids' ? [column.bytes.buffer] : []),
    ...(column.form === 'few' ? [column.numbers.buffer] : []),
    ...('texts' in column ? [column.texts.units.buffer, column.texts.lengths.buffer] : []),
  ]);
}
