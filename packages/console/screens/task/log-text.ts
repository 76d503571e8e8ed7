/** The text of a log in pieces, by line. A log of hundreds of megabytes stays a few large strings; only its visible lines are
 *  looked at. */
import { PLAIN, type Style, styledLine } from './sgr.js';

const PIECE_CHARACTERS = 1 << 20;
/** Longer lines are shown in part. */
export const SHOWN_CHARACTERS = 4000;
/** Line that an agent writes in the place of what it did not keep. */
const GAP = /^\[agent\] (\d+) bytes are left out here: limits\.taskLog$/;
/** Text beyond this is not kept in the page. */
const MAX_CHARACTERS = 400 * 1024 * 1024;

interface Piece {
  text: string;
  /** Number of its first line. */
  readonly firstLine: number;
  /** Where its lines begin in its text. */
  readonly starts: number[];
}

/** Part of a log that its agent did not keep. */
export interface Gap {
  /** Number of the line in its place, counted from 0. */
  readonly line: number;
  readonly bytes: number;
}

export class LogText {
  readonly #pieces: Piece[] = [{ text: '', firstLine: 0, starts: [0] }];
  /** Styles of lines that do not begin plain. */
  readonly #styles = new Map<number, Style>();
  #style: Style = PLAIN;
  #characters = 0;
  #isFull = false;
  #gap: Gap | undefined;
  #isChanged = false;

  /** Whether text was added since the last call. */
  takeChange(): boolean {
    const isChanged = this.#isChanged;
    this.#isChanged = false;
    return isChanged;
  }

  get isAtLineStart(): boolean {
    const { text, starts } = this.#last;
    return starts.at(-1) === text.length;
  }

  /** Number of lines; a text that ends with a line break has no further one. */
  get lines(): number {
    const last = this.#last;
    const count = last.firstLine + last.starts.length;
    return last.starts.at(-1) === last.text.length ? count - 1 : count;
  }

  /** Whether there was more than can be shown. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** The part that is missing; undefined for a log that is whole so far. */
  get gap(): Gap | undefined {
    return this.#gap;
  }

  append(text: string): void {
    this.#isChanged = true;
    if (this.#characters + text.length > MAX_CHARACTERS) {
      this.#isFull = true;
      return;
    }
    this.#characters += text.length;
    const last = this.#last;
    const offset = last.text.length;
    last.text += text;
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) {
      const start = last.starts.at(-1) ?? 0;
      const line = last.text.slice(start, offset + at);
      const number = last.firstLine + last.starts.length;
      this.#followStyle(line, number);
      const [, bytes] = GAP.exec(line) ?? [];
      if (bytes !== undefined) this.#gap = { line: number - 1, bytes: Number(bytes) };
      last.starts.push(offset + at + 1);
    }
    if (last.text.length > PIECE_CHARACTERS) this.#split(last);
  }

  /** A line as it was printed, at most as much of it as is shown. */
  line(number: number): { text: string; style: Style; hiddenCharacters: number } {
    const { text, start, end } = this.#place(number);
    const shownEnd = Math.min(end, start + SHOWN_CHARACTERS);
    return {
      text: text.slice(start, shownEnd),
      style: this.#styles.get(number) ?? PLAIN,
      hiddenCharacters: end - shownEnd,
    };
  }

  /** Numbers of the lines that contain the text, whatever its case. Pauses often, so that the page stays alive. */
  async search(wanted: string, limit: number, signal: AbortSignal): Promise<readonly number[]> {
    const found: number[] = [];
    const pattern = new RegExp(wanted.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'gi');
    for (const { text, firstLine, starts } of this.#pieces) {
      let index = 0;
      for (const match of text.matchAll(pattern)) {
        while (index + 1 < starts.length && (starts[index + 1] ?? 0) <= match.index) index++;
        if (found.at(-1) !== firstLine + index) found.push(firstLine + index);
        if (found.length >= limit) return found;
      }
      await new Promise((resolve) => setTimeout(resolve));
      signal.throwIfAborted();
    }
    return found;
  }

  get #last(): Piece {
    return this.#pieces[this.#pieces.length - 1] as Piece;
  }

  /** Begins another piece with the line that is not complete yet. */
  #split(last: Piece): void {
    const start = last.starts.at(-1) ?? 0;
    // One endless line stays in its piece.
    if (start === 0) return;
    const firstLine = last.firstLine + last.starts.length - 1;
    this.#pieces.push({ text: last.text.slice(start), firstLine, starts: [0] });
    last.text = last.text.slice(0, start);
    last.starts.pop();
  }

  #followStyle(line: string, nextLine: number): void {
    if (line.includes('\u001b['))
      this.#style = styledLine(line.slice(0, PIECE_CHARACTERS), this.#style).style;
    if (this.#style !== PLAIN) this.#styles.set(nextLine, this.#style);
  }

  #place(number: number): { text: string; start: number; end: number } {
    let [low, high] = [0, this.#pieces.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.#pieces[middle]?.firstLine ?? 0) <= number) low = middle;
      else high = middle - 1;
    }
    const { text, firstLine, starts } = this.#pieces[low] as Piece;
    const start = starts[number - firstLine] ?? 0;
    const next = starts[number - firstLine + 1];
    return { text, start, end: next === undefined ? text.length - (text.endsWith('\n') ? 1 : 0) : next - 1 };
  }
}
