/** Texts stored end to end, so that many can be searched at once. */

/** The texts of the rows of a segment. */
export interface Texts {
  /** All UTF-16 units, in one byte each where that suffices. */
  readonly units: Uint8Array | Uint16Array;
  /** Start of each row's text, and the end of the last one. */
  readonly starts: Uint32Array;
  /** 0 for a row without text, otherwise its length plus 1. */
  readonly lengths: Lengths;
}

type Lengths = Uint8Array<ArrayBuffer> | Uint16Array<ArrayBuffer> | Uint32Array<ArrayBuffer>;

/** Stored form of texts; their starts follow from the lengths. */
export interface PackedTexts {
  readonly units: Uint8Array<ArrayBuffer> | Uint16Array<ArrayBuffer>;
  readonly lengths: Lengths;
}

const FIRST_UNITS = 16_384;
const NO_UNITS = new Uint16Array();

/** Collects texts row by row; they can be searched at any time. */
export class TextsBuilder {
  readonly #lengths: Uint32Array<ArrayBuffer>;
  readonly #starts: Uint32Array;
  #units: Uint16Array = NO_UNITS;
  /** Bitwise OR of all character codes. */
  #allCodes = 0;
  #longest = 0;
  #end = 0;
  #rows = 0;

  constructor(capacity: number) {
    this.#lengths = new Uint32Array(capacity);
    this.#starts = new Uint32Array(capacity + 1);
  }

  /** Sets the text of a row. Rows are given in ascending order; rows left out have no text. */
  append(row: number, text: string): void {
    this.#reserve(text.length);
    this.#starts.fill(this.#end, this.#rows, row + 1);
    const units = this.#units;
    const end = this.#end;
    let codes = 0;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      units[end + i] = code;
      codes |= code;
    }
    this.#allCodes |= codes;
    this.#end += text.length;
    this.#lengths[row] = text.length + 1;
    this.#longest = Math.max(this.#longest, text.length + 1);
    this.#rows = row + 1;
  }

  /** View of the texts so far; later rows change it. */
  texts(): Texts {
    this.#starts.fill(this.#end, this.#rows);
    return { units: this.#units, starts: this.#starts, lengths: this.#lengths };
  }

  /** A compact copy. */
  packed(): PackedTexts {
    const units = this.#units.subarray(0, this.#end);
    return {
      units: this.#allCodes < 0x100 ? new Uint8Array(units) : new Uint16Array(units),
      lengths: narrow(this.#lengths, this.#longest),
    };
  }

  /** Starts again in the same memory. */
  clear(): void {
    this.#lengths.fill(0);
    this.#allCodes = 0;
    this.#longest = 0;
    this.#end = 0;
    this.#rows = 0;
  }

  #reserve(more: number): void {
    if (this.#end + more <= this.#units.length) return;
    const larger = new Uint16Array(Math.max(FIRST_UNITS, this.#units.length * 2, this.#end + more));
    larger.set(this.#units.subarray(0, this.#end));
    this.#units = larger;
  }
}

function narrow(lengths: Uint32Array<ArrayBuffer>, longest: number): Lengths {
  if (longest < 2 ** 8) return new Uint8Array(lengths);
  return longest < 2 ** 16 ? new Uint16Array(lengths) : lengths.slice();
}

/** Texts with their starts, which are computed into `starts`. */
export function unpacked({ units, lengths }: PackedTexts, starts: Uint32Array): Texts {
  let start = 0;
  for (let row = 0; row < lengths.length; row++) {
    starts[row] = start;
    const length = lengths[row] as number;
    if (length > 0) start += length - 1;
  }
  starts[lengths.length] = start;
  return { units, starts: starts.subarray(0, lengths.length + 1), lengths };
}
