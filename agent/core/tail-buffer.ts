/** The last part of a text that grows without end. Positions count UTF-16 units since the beginning. */
export class TailBuffer {
  readonly #limit: number;
  #text = '';
  #end = 0;

  /** Keeps at least the last `limit` units, and never more than a quarter beyond. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Position after the last unit: how much was ever added. */
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
    // A slice of a text keeps the whole of it in memory: this is a true copy.
    this.#text = Buffer.from(this.#text.slice(-this.#limit), 'utf16le').toString('utf16le');
  }

  /** What is kept from `position` on, at most the last `limit` units. */
  from(position: number): string {
    const first = Math.max(position, this.start, this.#end - this.#limit);
    return this.#text.slice(first - this.start);
  }

  /** The last lines, at most `limit` units; a line of which the beginning is lost is left out. */
  lines(): string {
    const text = this.from(0);
    if (text.length === this.#end) return text;
    const firstEnd = text.indexOf('\n');
    return firstEnd < 0 ? text : text.slice(firstEnd + 1);
  }
}
