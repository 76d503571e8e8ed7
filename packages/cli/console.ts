/** Output of `wb`: data to standard output, everything else to standard error. */
export interface Output {
  /** Print JSON, for programs. */
  readonly isJson: boolean;
}

/** Prints one value as JSON on a line of its own, or in words. */
export function print(value: unknown, { isJson }: Output, inWords: () => string): void {
  const text = isJson ? JSON.stringify(value) : inWords();
  if (text === '') return;
  const stream = new SafeOutput(process.stdout);
  stream.write(text.endsWith('\n') ? text : `${text}\n`);
  stream.end();
}

/** Tells the user something that is no data. */
export function tell(text: string): void {
  const stream = new SafeOutput(process.stderr);
  stream.write(`${text}\n`);
  stream.end();
}

/** Colors and other looks of text (SGR), and the characters that rule a terminal or the direction of writing. */
const CONTROLS = /\p{Cc}(?:\[[\d;:]{0,40}m)?|[\u202a-\u202e\u2066-\u2069]/gu;
/** Look of text, after its first character, that goes on in the next piece. */
const UNFINISHED = /^(?:\[[\d;:]{0,40})?$/;
const ESCAPE = '\u001b';
const RESET = `${ESCAPE}[0m`;

/**
 * Writer of text that a job or the hub has made. A terminal gets it with all control sequences escaped but looks of text (SGR); line
 * ends, returns and tabs stay. Other streams get it as it is.
 */
export class SafeOutput {
  readonly #stream: Pick<NodeJS.WriteStream, 'isTTY' | 'write'>;
  #held = '';
  #hasLook = false;

  constructor(stream: Pick<NodeJS.WriteStream, 'isTTY' | 'write'>) {
    this.#stream = stream;
  }

  /** Writes a piece of text, which may end within a sequence. */
  write(piece: string): void {
    if (!this.#stream.isTTY) {
      this.#stream.write(piece);
      return;
    }
    const text = this.#held + piece;
    const last = text.lastIndexOf(ESCAPE);
    const at = last >= 0 && UNFINISHED.test(text.slice(last + 1)) ? last : text.length;
    this.#held = text.slice(at);
    this.#write(text.slice(0, at));
  }

  /** Writes what was held back, and ends the look that the text has set. */
  end(): void {
    this.#write(this.#held);
    this.#held = '';
    if (this.#hasLook) this.#stream.write(RESET);
    this.#hasLook = false;
  }

  #write(text: string): void {
    if (text === '') return;
    this.#stream.write(
      text.replace(CONTROLS, (found) => {
        const [first = '', ...more] = found;
        if (first === ESCAPE && more.length > 0) {
          this.#hasLook = found !== RESET;
          return found;
        }
        return (/[\n\r\t]/.test(first) ? first : escaped(first)) + more.join('');
      }),
    );
  }
}

export interface Column<Row> {
  readonly title: string;
  readonly of: (row: Row) => string | number | undefined;
  /** Left out when no row has a value. */
  readonly isRare?: boolean;
}

/** A table with a line for each row; control characters of its cells are escaped, so that no name rules the terminal. */
export function table<Row>(rows: readonly Row[], all: readonly Column<Row>[]): string {
  const columns = all.filter(({ isRare, of }) => !isRare || rows.some((row) => of(row) !== undefined));
  const lines = [
    columns.map(({ title }) => title),
    ...rows.map((row) => columns.map((column) => printable(String(column.of(row) ?? '-')))),
  ];
  const widths = columns.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((cell, at) => (at === columns.length - 1 ? cell : cell.padEnd(widths[at] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** The text on one line, with control characters escaped. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** An amount of bytes in words. */
export function sizeInWords(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(units.length - 1, bytes > 0 ? Math.floor(Math.log2(bytes) / 10) : 0);
  const value = bytes / 1024 ** power;
  return `${power === 0 ? value : value.toFixed(1)} ${units[power]}`;
}
