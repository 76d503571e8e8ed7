/**
 * Which rows of a column match a text with wildcards. A million names are looked through in milliseconds because the
 * work is the JavaScript engine's own search in one long text, not a comparison row by row: each piece between two `*`
 * is searched once from the first row to the last, and rows in which it does not occur are passed over.
 */
import type { TextColumn } from './text-column.js';

const NOWHERE = Number.POSITIVE_INFINITY;

/** What stands between two `*`: characters, and `?` for any one of them. */
class Piece {
  readonly length: number;
  readonly #text: string;
  readonly #hasAny: boolean;
  /** The longest run without `?`, by which the piece is searched, and its place in the piece. */
  readonly #run: string;
  readonly #runAt: number;

  constructor(text: string) {
    this.#text = text;
    this.length = text.length;
    const runs = text.split('?');
    this.#hasAny = runs.length > 1;
    this.#run = runs.reduce((longest, run) => (run.length > longest.length ? run : longest), '');
    this.#runAt = text.indexOf(this.#run);
  }

  /** True when it stands at this place of `text`. */
  standsAt(text: string, at: number): boolean {
    if (!this.#hasAny) return text.startsWith(this.#text, at);
    for (let i = 0; i < this.length; i++) {
      if (this.#text[i] !== '?' && this.#text[i] !== text[at + i]) return false;
    }
    return true;
  }

  /** Its first place from `from` on. */
  next(text: string, from: number): number {
    if (this.#run === '') return from;
    for (let at = from; ; at++) {
      const runAt = text.indexOf(this.#run, at + this.#runAt);
      if (runAt < 0) return NOWHERE;
      at = runAt - this.#runAt;
      if (!this.#hasAny || this.standsAt(text, at)) return at;
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

  /** Raises the mark of each row that has a mark of `level` and a text that matches as a whole. */
  raise(column: TextColumn, marks: Uint8Array, level: number): void {
    const { text, ends, present, rows } = column.contents();
    const head = this.#head;
    const tail = this.#tail;
    const middles = this.#middles;
    // Where each middle piece was found last; valid as long as it is not before the place that is asked for.
    const places = new Float64Array(middles.length).fill(-1);
    let end = 0;
    for (let row = 0; row < rows; row++) {
      const start = end;
      end = ends[row] as number;
      if (marks[row] !== level || present[row] === 0) continue;
      if (tail === undefined) {
        if (end - start === head.length && head.standsAt(text, start)) marks[row] = level + 1;
        continue;
      }
      const limit = end - tail.length;
      let at = start + head.length;
      if (at > limit) continue;
      for (let k = 0; k < middles.length; k++) {
        const middle = middles[k] as Piece;
        let place = places[k] as number;
        if (place < at) {
          place = middle.next(text, at);
          places[k] = place;
        }
        at = place + middle.length;
        if (at > limit) break;
      }
      if (at <= limit && head.standsAt(text, start) && tail.standsAt(text, limit)) marks[row] = level + 1;
    }
  }
}
