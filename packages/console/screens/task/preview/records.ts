/** Records of a text with separated values, as they arrive. */

export const SEPARATORS = [',', ';', '\t'] as const;
export type Separator = (typeof SEPARATORS)[number];

/** The separator that the first line has most often. */
export function separatorOf(line: string): Separator {
  const counts = SEPARATORS.map((separator) => fieldsOf(line, separator).length);
  return SEPARATORS[counts.indexOf(Math.max(...counts))] ?? ',';
}

/** Fields of a record. A quoted one may contain the separator, line breaks, and quotes twice. */
export function fieldsOf(record: string, separator: Separator): string[] {
  if (!record.includes('"')) return record.split(separator);
  const fields: string[] = [];
  let at = 0;
  for (;;) {
    if (record[at] === '"') {
      const end = quoteEnd(record, at + 1);
      fields.push(record.slice(at + 1, end).replaceAll('""', '"'));
      at = record.indexOf(separator, end);
    } else {
      const end = record.indexOf(separator, at);
      fields.push(end < 0 ? record.slice(at) : record.slice(at, end));
      at = end;
    }
    if (at < 0) return fields;
    at++;
  }
}

function quoteEnd(record: string, from: number): number {
  for (let at = from; ; at += 2) {
    at = record.indexOf('"', at);
    if (at < 0) return record.length;
    if (record[at + 1] !== '"') return at;
  }
}

/** Longest record: neither a quote nor a line that never ends is a reason to read the whole file as one. */
const MAX_RECORD = 1 << 20;

/** Cuts a text into records: at line breaks that are not within quotes. */
export class RecordCutter {
  /** Text after the last complete record. */
  #rest = '';
  /** Characters of the rest that were looked at. */
  #seen = 0;
  #isInQuotes = false;

  /** Records that are complete with this text. */
  push(text: string): string[] {
    const whole = this.#rest + text;
    const records: string[] = [];
    let start = 0;
    let at = this.#seen;
    let quote = whole.indexOf('"', at);
    const passQuotes = (to: number) => {
      for (; quote >= 0 && quote < to; quote = whole.indexOf('"', quote + 1))
        this.#isInQuotes = !this.#isInQuotes;
    };
    for (let end = whole.indexOf('\n', at); end >= 0; end = whole.indexOf('\n', at)) {
      passQuotes(end);
      at = end + 1;
      if (this.#isInQuotes && end - start < MAX_RECORD) continue;
      records.push(withoutReturn(whole.slice(start, end)));
      this.#isInQuotes = false;
      start = at;
    }
    passQuotes(whole.length);
    this.#rest = whole.slice(start);
    this.#seen = this.#rest.length;
    return this.#rest.length > MAX_RECORD ? [...records, ...this.end()] : records;
  }

  /** The last record, if no line break ends it. */
  end(): string[] {
    const rest = withoutReturn(this.#rest);
    this.#rest = '';
    this.#seen = 0;
    this.#isInQuotes = false;
    return rest === '' ? [] : [rest];
  }
}

function withoutReturn(record: string): string {
  return record.endsWith('\r') ? record.slice(0, -1) : record;
}
