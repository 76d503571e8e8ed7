/**
 * Which rows of a column match a text with wildcards. A million names are looked through in milliseconds because the
 * work is the JavaScript engine's own search in one long text, not a comparison row by row: each piece between two `*`
 * is searched once from the first row to the last, and rows in which it does not occur are passed over.
 */
import type { TextColumn } from './text-column.js';

/** Behind every text, and still a small number when a piece is added to it. */
const NOWHERE = 2 ** 30;

const ANY = -1;

/** Beyond this length the engine's own search and comparison are faster than comparing each character. */
const SHORT = 4;

/** What stands between two `*`: characters, and `?` for any one of them. */
class Piece {
  readonly length: number;
  /** What it is, if it has no `?`. */
  readonly text: string | undefined;
  /** Code of each character, or {@link ANY}. */
  readonly #codes: Int32Array;
  /** The longest run without `?`, by which the piece is searched, and its place in the piece. */
  readonly #run: string;
  readonly #runAt: number;

  constructor(piece: string) {
    this.length = piece.length;
    this.text = piece.includes('?') ? undefined : piece;
    this.#codes = Int32Array.from(piece.split(''), (unit) => (unit === '?' ? ANY : unit.charCodeAt(0)));
    this.#run = piece.split('?').reduce((longest, run) => (run.length > longest.length ? run : longest), '');
    this.#runAt = piece.indexOf(this.#run);
  }

  /** True when it stands at this place. */
  standsAt(text: string, at: number): boolean {
    if (this.text !== undefined && this.length > SHORT) return text.startsWith(this.text, at);
    const codes = this.#codes;
    for (let i = 0; i < codes.length; i++) {
      if (codes[i] !== ANY && codes[i] !== text.charCodeAt(at + i)) return false;
    }
    return true;
  }

  /** Its first place from `from` on, or -1. */
  indexIn(text: string, from: number): number {
    if (this.#run === '') return from;
    for (let at = from; ; at++) {
      const runAt = text.indexOf(this.#run, at + this.#runAt);
      if (runAt < 0) return -1;
      at = runAt - this.#runAt;
      if (this.standsAt(text, at)) return at;
    }
  }
}

export class TextPattern {
  readonly #head: Piece;
  /** Undefined without a `*`: then the head is all there is. */
  readonly #tail: Piece | undefined;
  readonly #middles: readonly Piece[];

  /** In `pattern`, `*` stands for any run of characters and `?` for one. */
  constructor(pattern: string) {
    const pieces = pattern.split('*').map((text) => new Piece(text));
    this.#head = pieces[0] as Piece;
    this.#tail = pieces.length > 1 ? pieces.at(-1) : undefined;
    this.#middles = pieces.slice(1, -1).filter(({ length }) => length > 0);
  }

  /** Of the first `count` of these rows, which ascend, keeps those whose text matches as a whole, at the front; gives
   *  how many they are. */
  keep(column: TextColumn, candidates: Uint16Array, count: number): number {
    const { text, ends, present } = column.contents();
    const head = this.#head;
    const headLength = head.length;
    const soughtHead = headLength > SHORT ? head.text : undefined;
    let headFound = -1;
    const tail = this.#tail;
    const tailLength = tail?.length ?? 0;
    const middles = this.#middles;
    const pieces = middles.length;
    // For the speed of the loop, what it needs of the pieces; and where each was found last, which is good for as long
    // as it is not before the place that is asked for.
    const texts = middles.map((piece) => piece.text);
    const lengths = Int32Array.from(middles, ({ length }) => length);
    const found = new Int32Array(pieces).fill(-1);
    let kept = 0;
    for (let candidate = 0; candidate < count; candidate++) {
      const row = candidates[candidate] as number;
      if (present[row] !== 1) continue;
      const start = row === 0 ? 0 : (ends[row - 1] as number);
      const limit = (ends[row] as number) - tailLength;
      let at = start + headLength;
      if (at > limit || (tail === undefined && at !== limit)) continue;
      if (soughtHead !== undefined) {
        if (headFound < start) headFound = text.indexOf(soughtHead, start);
        if (headFound < 0) break;
        if (headFound !== start) continue;
      }
      for (let k = 0; k < pieces && at <= limit; k++) {
        let place = found[k] as number;
        if (place < at) {
          const middle = texts[k];
          place = middle === undefined ? (middles[k] as Piece).indexIn(text, at) : text.indexOf(middle, at);
          if (place < 0) place = NOWHERE;
          found[k] = place;
        }
        at = place + (lengths[k] as number);
      }
      if (at > limit) continue;
      if (soughtHead === undefined && !head.standsAt(text, start)) continue;
      if (tailLength > 0 && !tail?.standsAt(text, limit)) continue;
      candidates[kept++] = row;
    }
    return kept;
  }
}
