/** The last part of a text of any length. Positions count UTF-16 units since the beginning. */
export class TailBuffer {
  readonly #limit: number;
  #text = '';
  #end = 0;

  /** Keeps at least the last `limit` units, and never more than a quarter beyond. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Position after the last unit, which is the total length so far. */
  get end(): number {
    return this.#end;
  }

  /** Position of the first unit that is kept. */
  get start(): number {
    return this.#end - this.#text.length;
  }

  push(text: string): void {
    this.#end += text.length;
    this.#text += text;
    if (this.#text.length <= this.#limit * 1.25) return;
    // A slice would keep the whole text in memory: this is a real copy.
    this.#text = Buffer.from(this.#text.slice(-this.#limit), 'utf16le').toString('utf16le');
  }

  /** Kept text from `position` on, at most the last `limit` units. */
  from(position: number): string {
    const first = Math.max(position, this.start, this.#end - this.#limit);
    return this.#text.slice(first - this.start);
  }

  /** The last lines, at most `limit` units, without a line whose beginning is lost. */
  lines(): string {
    const text = this.from(0);
    if (text.length === this.#end) return text;
    const firstEnd = text.indexOf('\n');
    return firstEnd < 0 ? text : text.slice(firstEnd + 1);
  }
}
