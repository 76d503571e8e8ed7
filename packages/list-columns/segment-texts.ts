/** The texts of a segment's tasks, and their search by a text filter. */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { ColumnPattern, SEGMENT_ROWS, type TextColumn, TextColumnBuilder } from './text-column.js';
import type { Texts } from './texts.js';

/** The texts of a full segment, which never change. */
export interface SegmentTexts {
  readonly ids: TextColumn;
  /** Names in lower case. */
  readonly names: TextColumn;
  readonly creators: TextColumn;
}

/** Patterns with the wildcards `*` and `?`; all given ones must match. */
export interface TextFilter {
  readonly id?: string | undefined;
  /** Compared without regard to case. */
  readonly name?: string | undefined;
  readonly creator?: string | undefined;
}

/** One bit for each row of a segment; the first row is the lowest bit of the first byte. */
export type RowBits = Uint8Array<ArrayBuffer>;

const ROW_BITS_BYTES = SEGMENT_ROWS / 8;

/** The cheapest column first, which leaves fewer rows to the others. */
const COLUMNS = ['creators', 'names', 'ids'] as const;
type Column = (typeof COLUMNS)[number];

/** Collects the texts of the growing segment. */
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

  /** View of the texts so far; later rows change it. */
  texts(): Readonly<Record<Column, Texts>> {
    const { ids, names, creators } = this.#columns;
    return { ids: ids.texts(), names: names.texts(), creators: creators.texts() };
  }

  /** Takes the finished texts and starts the next segment. */
  take(): SegmentTexts {
    const { ids, names, creators } = this.#columns;
    return { ids: ids.take(), names: names.take(), creators: creators.take() };
  }
}

/** Lower case with a single form of sigma, whose final form depends on the neighbouring characters, which differ in a
 *  pattern. */
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

  /** Matching rows. Bits of rows without a task are undefined. */
  in(texts: Readonly<Record<Column, TextColumn | Texts>>): RowBits {
    const bits = noRows();
    this.addFrom(texts, { from: 0, to: SEGMENT_ROWS }, bits);
    return bits;
  }

  /** Sets the bits of matching rows in the range; `to` is excluded. */
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

/** Prepared searches kept; preparing one may take milliseconds. */
const SEARCHES_KEPT = 16;

/** The latest prepared searches, by filter. */
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

/** Duration of a turn, within which most searches in a million names end. */
const TURN_MS = 40;

/** Searches segments in order until the turn is over; at least one. */
export function searchForOneTurn(search: TextSearch, texts: Iterable<SegmentTexts>, clock: Clock): RowBits[] {
  const began = clock.monotonicMs();
  const found: RowBits[] = [];
  for (const each of texts) {
    found.push(search.in(each));
    if (clock.monotonicMs() - began >= TURN_MS) break;
  }
  return found;
}

/** Buffers that are transferred, not copied, to another thread. */
export function buffersOf({ ids, names, creators }: SegmentTexts): ArrayBuffer[] {
  return [ids, names, creators].flatMap((column) => [
    ...(column.form === 'uuids' ? [column.bytes.buffer] : []),
    ...(column.form === 'few' ? [column.numbers.buffer] : []),
    ...('texts' in column ? [column.texts.units.buffer, column.texts.lengths.buffer] : []),
  ]);
}
