/** One text for each row of a segment, or none: all in one long text, which is what can be searched fast. */

export interface TextColumnContents {
  readonly text: string;
  /** Where the text of each row ends; it begins where that of the row before ends. */
  readonly ends: Uint32Array;
  /** 1 for the rows that have a text. */
  readonly present: Uint8Array;
}

const NOTHING: TextColumnContents = {
  text: '',
  ends: new Uint32Array(),
  present: new Uint8Array(),
};

/** So many texts are made one at a time: they go before they are taken for something that stays. */
const TEXTS_AT_ONCE = 256;

export class TextColumn {
  readonly #capacity: number;
  // Made with the first text: where nobody is named, a column of names costs nothing.
  #ends: Uint32Array | undefined;
  #present = NOTHING.present;
  #text = '';
  /** What comes behind it: many texts in one, and behind these the latest. */
  #joined: string[] = [];
  #added: string[] = [];
  #length = 0;
  #rows = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Sets the text of a row. Rows come in ascending order; those left out have none. */
  append(row: number, text: string | null): void {
    if (text === null) return;
    if (!this.#ends) {
      this.#ends = new Uint32Array(this.#capacity);
      this.#present = new Uint8Array(this.#capacity);
    }
    this.#ends.fill(this.#length, this.#rows, row);
    this.#added.push(text);
    if (this.#added.length === TEXTS_AT_ONCE) {
      this.#joined.push(this.#added.join(''));
      this.#added = [];
    }
    this.#length += text.length;
    this.#ends[row] = this.#length;
    this.#present[row] = 1;
    this.#rows = row + 1;
  }

  /** Makes one text of what has been added, which takes less memory. */
  pack(): void {
    this.#text = [this.#text, ...this.#joined, ...this.#added].join('');
    this.#joined = [];
    this.#added = [];
  }

  /** Rows that are still to come have no text. */
  contents(): TextColumnContents {
    if (!this.#ends) return NOTHING;
    if (this.#joined.length > 0 || this.#added.length > 0) this.pack();
    return { text: this.#text, ends: this.#ends, present: this.#present };
  }
}
