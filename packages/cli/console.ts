/** Output of `wb`: data to standard output, everything else to standard error. */
export interface Output {
  /** Print JSON, for programs. */
  readonly isJson: boolean;
}

/** Prints one value as JSON on a line of its own, or in words. */
export function print(value: unknown, { isJson }: Output, inWords: () => string): void {
  const text = isJson ? JSON.stringify(value) : inWords();
  if (text !== '') process.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
}

/** Tells the user something that is no data. */
export function tell(text: string): void {
  process.stderr.write(`${text}\n`);
}

export interface Column<Row> {
  readonly title: string;
  readonly of: (row: Row) => string | number | undefined;
}

/** A table with a line for each row; control characters of its cells are escaped, so that no name rules the terminal. */
export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
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
  return text.replace(
    /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu,
    (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** An amount of bytes in words. */
export function sizeInWords(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(units.length - 1, bytes > 0 ? Math.floor(Math.log2(bytes) / 10) : 0);
  const value = bytes / 1024 ** power;
  return `${power === 0 ? value : value.toFixed(1)} ${units[power]}`;
}
