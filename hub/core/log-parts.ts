/** Parts of a log by the query of a client. */

/** A part of a log; at most one of the two is given. */
export interface LogPartQuery {
  /** Number of last lines. */
  readonly tail?: number | undefined;
  /** Position to begin at. */
  readonly offset?: number | undefined;
}

/** Known end of a growing log. Positions count UTF-16 units since its beginning. */
export interface LogText {
  readonly text: string;
  /** Position of the first unit of the text. */
  readonly offset: number;
}

/** The requested part of a text. An offset beyond its end means that the log has begun anew since: the part is the whole. */
export function partOfText({ text, offset: start }: LogText, { tail, offset }: LogPartQuery): LogText {
  // The other half of a character may still come.
  const known = isHighSurrogate(text.charCodeAt(text.length - 1)) ? text.slice(0, -1) : text;
  const isBeyond = offset !== undefined && offset > start + known.length;
  const from =
    tail !== undefined
      ? startOfLastLines(known, tail)
      : isBeyond || offset === undefined
        ? 0
        : Math.max(offset - start, 0);
  return { text: known.slice(from), offset: start + from };
}

function startOfLastLines(text: string, lines: number): number {
  let at = text.endsWith('\n') ? text.length - 1 : text.length;
  for (let left = lines; left > 0; left--) {
    if (at <= 0) return 0;
    at = text.lastIndexOf('\n', at - 1);
  }
  return at + 1;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}
