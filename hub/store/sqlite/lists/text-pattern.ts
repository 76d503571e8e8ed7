/**
 * Which of many texts match a text with wildcards. Millions of characters are looked through in milliseconds: by the native
 * search for a part of the pattern that few texts have, and where there is none, in one pass over the characters.
 */
import { TRIED_STEPS_PER_CHARACTER, WildcardAutomaton } from '@workbench-hub/shared/domain/wildcard';
import type { Texts } from './texts.js';

const ANY = -1;

/** So many runs are tried out to find one that few texts have. */
const RUNS_TRIED = 4;

/** A native search that finds something in more than one of so many texts is slower than looking at each. */
const ROWS_PER_FIND = 64;

/** Length of a run up to which the native search takes time in proportion to the texts: it prepares itself for 250 characters, and
 *  beyond them may compare the whole run at each place. */
const LONGEST_RUN = 240;

/** Fewer are looked at one by one. */
const ROWS_TO_SEARCH = 1024;

const LATIN_1_ONLY = /^[\0-\xff]*$/;

/** What has to be compared, as codes of characters or {@link ANY}. */
interface Compared {
  readonly head: Int32Array;
  readonly tail: Int32Array;
  /** The pieces between, one behind the other, each with its length before it. */
  readonly middles: Int32Array;
  /** Without a `*` the head is all there is. */
  readonly exact: boolean;
  /** For texts that one place after the other would be tried in for too long; made when the first one comes. */
  readonly automaton: () => WildcardAutomaton;
}

export class TextPattern {
  readonly #compared: Compared;
  /** What stands between two wildcards, the longest first. */
  readonly #runs: readonly Buffer[];
  /** What is searched for natively; null when nothing is worth it, undefined before it has been tried. */
  #rare: Buffer | null | undefined;

  /** In `pattern`, `*` stands for any run of characters and `?` for one. */
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
    // A text that has to be the whole pattern is told apart by its length or its first characters.
    this.#runs = (exact ? '' : pattern)
      .split(/[*?]/)
      .map((run) => run.slice(0, LONGEST_RUN))
      .filter((run) => run !== '' && LATIN_1_ONLY.test(run))
      .sort((a, b) => b.length - a.length)
      .slice(0, RUNS_TRIED)
      .map((run) => Buffer.from(run, 'latin1'));
  }

  /** Of the first `count` of these rows, which ascend, keeps those whose text matches as a whole, at the front; gives how
   *  many they are. */
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

  /** The run that is found least often; null when all are found so often. */
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

/** Of the rows from one place up to another, keeps those that fit behind those that are kept already. */
type KeepEach = (
  compared: Compared,
  texts: Texts,
  view: DataView,
  rows: Uint16Array,
  places: { readonly from: number; readonly count: number; readonly kept: number },
) => number;

/** The first place from one place to another, which is included, where this character stands; a later place when there is none. */
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
