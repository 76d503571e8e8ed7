/**
 * Which rows of a column match a text with wildcards. A million names are looked through in milliseconds because the
 * work is the JavaScript engine's own search in one long text, not a comparison row by row: each piece between two `*`
 * is searched once from the first row to the last, and rows in which it does not occur are passed over.
 */
import type { TextColumn } from './text-column.js';

const NOWHERE = Number.POSITIVE_INFINITY;
const ANY = -1;

/** A piece up to this length is compared where it has to stand; a longer one is searched. */
const COMPARED = 4;

/** What stands between two `*`: characters, and `?` for any one of them. Searched from place to place, forwards only. */
class Piece {
  readonly length: number;
  /** Code of each character, or {@link ANY}. */
  readonly #codes: Int32Array;
  /** The longest run without `?`, by which the piece is searched, and its place in the piece. */
  readonly #run: string;
  readonly #runAt: number;
  readonly #isRun: boolean;
  /** Where it was found last. */
  #found = -1;

  constructor(text: string) {
    this.length = text.length;
    this.#codes = Int32Array.from(text.split(''), (unit) => (unit === '?' ? ANY : unit.charCodeAt(0)));
    this.#run = text.split('?').reduce((longest, run) => (run.length > longest.length ? run : longest), '');
    this.#runAt = text.indexOf(this.#run);
    this.#isRun = this.#run === text && text !== '';
  }

  /** Begins anew, with another text. */
  reset(): void {
    this.#found = -1;
  }

  /** Its first place from `from` on. Between two resets `from` never goes back. */
  next(text: string, from: number): number {
    if (this.#found >= from) return this.#found;
    if (this.#isRun) {
      const at = text.indexOf(this.#run, from);
      this.#found = at < 0 ? NOWHERE : at;
    } else {
      this.#found = this.#search(text, from);
    }
    return this.#found;
  }

  /** True when it stands at this place, which never goes back between two resets. */
  standsAt(text: string, at: number): boolean {
    return this.length <= COMPARED ? this.#fits(text, at) : this.next(text, at) === at;
  }

  #search(text: string, from: number): number {
    if (this.#run === '') return from;
    for (let at = from; ; at++) {
      const runAt = text.indexOf(this.#run, at + this.#runAt);
      if (runAt < 0) return NOWHERE;
      at = runAt - this.#runAt;
      if (this.#fits(text, at)) return at;
    }
  }

  #fits(text: string, at: number): boolean {
    const codes = this.#codes;
    for (let i = 0; i < codes.length; i++) {
      if (codes[i] !== ANY && codes[i] !== text.charCodeAt(at + i)) return false;
    }
    return true;
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

  /** Raises the mark of each row that has a mark of `level` and a text that matches as a whole. */
  raise(column: TextColumn, marks: Uint8Array, level: number): void {
    const { text, ends, present, rows } = column.contents();
    const head = this.#head;
    const tail = this.#tail;
    const middles = this.#middles;
    for (const piece of [head, ...middles]) piece.reset();
    tail?.reset();
    let end = 0;
    for (let row = 0; row < rows; row++) {
      const start = end;
      end = ends[row] as number;
      if (marks[row] !== level || present[row] === 0) continue;
      const limit = tail ? end - tail.length : end;
      let at = start + head.length;
      if (tail ? at > limit : at !== limit) continue;
      for (let k = 0; k < middles.length && at <= limit; k++) {
        const middle = middles[k] as Piece;
        at = middle.next(text, at) + middle.length;
      }
      if (at > limit || !head.standsAt(text, start)) continue;
      if (!tail || tail.standsAt(text, limit)) marks[row] = level + 1;
    }
  }
}
