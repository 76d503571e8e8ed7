/**
 * Matching of many texts against a pattern with wildcards. Millions of characters take milliseconds: the native search finds
 * a part of the pattern that few texts contain; without such a part, one pass compares all characters.
 */
import { TRIED_STEPS_PER_CHARACTER, WildcardAutomaton } from '@workbench-hub/shared/domain/wildcard';
import type { Texts } from './texts.js';

const ANY = -1;

/** Runs that are tried to find one that few texts contain. */
const RUNS_TRIED = 4;

/** Minimum rows per find; with more finds the native search is slower than comparing each text. */
const ROWS_PER_FIND = 64;

/** Maximum length of a run for which the native search takes linear time: it prepares itself for 250 characters, and beyond
 *  them may compare the whole run at each place. */
const LONGEST_RUN = 240;

/** Rows below which each is compared. */
const ROWS_TO_SEARCH = 1024;

const LATIN_1_ONLY = /^[\0-\xff]*$/;

/** The parts of a pattern, as character codes or {@link ANY}. */
interface Compared {
  readonly head: Int32Array;
  readonly tail: Int32Array;
  /** The pieces in between, end to end, each preceded by its length. */
  readonly middles: Int32Array;
  /** True without a `*`: the head is the whole pattern. */
  readonly exact: boolean;
  /** Bounds the time for texts in which trying each place would take too long; created when first needed. */
  readonly automaton: () => WildcardAutomaton;
}

export class TextPattern {
  readonly #compared: Compared;
  /** Literal runs between wildcards, the longest first. */
  readonly #runs: readonly Buffer[];
  /** Run for the native search; null when none is worth it, undefined before the choice. */
  #rare: Buffer | null | undefined;

  /** `*` stands for any run of characters and `?` for one. */
  constructor(pattern: string) {
    const pieces = pattern.split('*').map(codesOf);
    const exact = pieces.length === 1;
    const middles = pieces.slice(1, -1).filter(({ length }) => length > 0);
    let automaton: WildcardAutomaton | undefined;
    this.#compared = {
      head: Int32Array.from(pieces[0] ?? []),
      tail: Int32Array.from((!exact && pieces.at(-1)) || []),
      middles: Int32Array.from(middles.flatMap((piece) => [piece.length, ...piece])),
      exact,
      automaton: () => {
        automaton ??= new WildcardAutomaton(pattern);
        return automaton;
      },
    };
    // An exact pattern is distinguished by its length or its first characters.
    this.#runs = (exact ? '' : pattern)
      .split(/[*?]/)
      .map((run) => run.slice(0, LONGEST_RUN))
      .filter((run) => run !== '' && LATIN_1_ONLY.test(run))
      .sort((a, b) => b.length - a.length)
      .slice(0, RUNS_TRIED)
      .map((run) => Buffer.from(run, 'latin1'));
  }

  /** Keeps at the front those of the first `count` ascending rows whose whole text matches; returns their number. */
  keep(texts: Texts, rows: Uint16Array, count: number): number {
    const { units, starts } = texts;
    const view = new DataView(units.buffer, units.byteOffset, units.byteLength);
    const places = { from: 0, count, kept: 0 };
    if (!(units instanceof Uint8Array)) return keepEachWide(this.#compared, texts, view, rows, places);
    if (count >= ROWS_TO_SEARCH) {
      const bytes = Buffer.from(units.buffer, units.byteOffset, starts[starts.length - 1]);
      if (this.#rare === undefined)
        this.#rare = this.#rarest(bytes, Math.ceil(starts.length / ROWS_PER_FIND));
      if (this.#rare !== null) return this.#keepFound(bytes, this.#rare, texts, view, rows, count);
    }
    return keepEachNarrow(this.#compared, texts, view, rows, places);
  }

  /** The rarest run; null when all are found at least `often` times. */
  #rarest(bytes: Buffer, often: number): Buffer | null {
    let rarest: Buffer | null = null;
    let fewest = often;
    for (const run of this.#runs) {
      let finds = 0;
      for (let at = bytes.indexOf(run); at >= 0 && finds < fewest; at = bytes.indexOf(run, at + 1)) finds++;
      if (finds >= fewest) continue;
      fewest = finds;
      rarest = run;
    }
    return rarest;
  }

  #keepFound(
    bytes: Buffer,
    run: Buffer,
    texts: Texts,
    view: DataView,
    rows: Uint16Array,
    count: number,
  ): number {
    const { starts } = texts;
    let kept = 0;
    let at = 0;
    for (let finds = 0; at < count; finds++) {
      if (finds * ROWS_PER_FIND > starts.length) {
        this.#rare = null;
        return keepEachNarrow(this.#compared, texts, view, rows, { from: at, count, kept });
      }
      const found = bytes.indexOf(run, starts[rows[at] as number]);
      if (found < 0) break;
      while (at < count && (starts[(rows[at] as number) + 1] as number) <= found) at++;
      if (at === count || (starts[rows[at] as number] as number) > found) continue;
      kept = keepEachNarrow(this.#compared, texts, view, rows, { from: at, count: at + 1, kept });
      at++;
    }
    return kept;
  }
}

function codesOf(piece: string): number[] {
  return Array.from(piece.split(''), (unit) => (unit === '?' ? ANY : unit.charCodeAt(0)));
}

/** Appends the matching rows of a range to those already kept. */
type KeepEach = (
  compared: Compared,
  texts: Texts,
  view: DataView,
  rows: Uint16Array,
  places: { readonly from: number; readonly count: number; readonly kept: number },
) => number;

/** The first place of a character between two places, both included; a later place when there is none. */
type PlaceOf = (code: number, units: Texts['units'], view: DataView, from: number, last: number) => number;

// One function for each width of characters: a function that meets both is compiled for both, and slower by half.
const keepEachNarrow = makeKeepEach((code, units, view, from, last) => {
  if (code > 0xff) return last + 1;
  let at = from;
  // Four bytes at a time: less one, only a byte that was zero borrows from those above it.
  const sought = Math.imul(code, 0x01010101);
  for (; at <= last - 3; at += 4) {
    const four = view.getInt32(at, true) ^ sought;
    const zeros = (four - 0x01010101) & ~four & 0x80808080;
    if (zeros !== 0) return at + ((31 - Math.clz32(zeros & -zeros)) >> 3);
  }
  while (at <= last && units[at] !== code) at++;
  return at;
});
const keepEachWide = makeKeepEach((code, units, _view, from, last) => {
  let at = from;
  while (at <= last && units[at] !== code) at++;
  return at;
});

function makeKeepEach(placeOf: PlaceOf): KeepEach {
  return (
    { head, tail, middles, exact, automaton },
    { units, starts, lengths },
    view,
    rows,
    { from, count, kept: before },
  ) => {
    const headLength = head.length;
    const tailLength = tail.length;
    let kept = before;
    if (from === count) return kept;
    const characters =
      (starts[(rows[count - 1] as number) + 1] as number) - (starts[rows[from] as number] as number);
    let stepsLeft = TRIED_STEPS_PER_CHARACTER * characters;
    nextRow: for (let candidate = from; candidate < count; candidate++) {
      const row = rows[candidate] as number;
      if (lengths[row] === 0) continue;
      const start = starts[row] as number;
      const limit = (starts[row + 1] as number) - tailLength;
      let at = start + headLength;
      if (at > limit || (exact && at !== limit)) continue;
      for (let i = 0; i < headLength; i++) {
        if (head[i] !== units[start + i] && head[i] !== ANY) continue nextRow;
      }
      for (let i = 0; i < tailLength; i++) {
        if (tail[i] !== units[limit + i] && tail[i] !== ANY) continue nextRow;
      }
      nextPiece: for (let piece = 0; piece < middles.length; ) {
        const length = middles[piece] as number;
        const last = limit - length;
        const first = middles[piece + 1] as number;
        nextPlace: for (; ; at++) {
          if (first !== ANY) at = placeOf(first, units, view, at, last);
          if (at > last) continue nextRow;
          for (let i = 1; i < length; i++) {
            const code = middles[piece + 1 + i];
            if (code === units[at + i] || code === ANY) continue;
            stepsLeft -= i;
            if (stepsLeft >= 0) continue nextPlace;
            if (automaton().matches(units, start, limit + tailLength)) break nextPiece;
            continue nextRow;
          }
          break;
        }
        at += length;
        piece += length + 1;
      }
      rows[kept++] = row;
    }
    return kept;
  };
}
