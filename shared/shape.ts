/**
 * Reads values that came as JSON: what has not the shape that it should have is a {@link ShapeFault}. For messages that are
 * too frequent, or programs that are too small, for a library of schemas; it needs nothing else.
 */

export class ShapeFault extends Error {
  override readonly name = 'ShapeFault';
  /** Where, with dots between the members; empty for the whole. */
  readonly path: string;

  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}

export type Members = Readonly<Record<string, unknown>>;

export function members(value: unknown, path: string): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw expected('an object', path);
  return value as Members;
}

/** Of at most `longest` characters. */
export function text(value: unknown, path: string, longest = Number.POSITIVE_INFINITY): string {
  if (typeof value !== 'string') throw expected('a text', path);
  if (value.length > longest) throw expected(`a text of at most ${longest} characters`, path);
  return value;
}

export function wholeNumber(value: unknown, path: string, lowest: number): number {
  if (!Number.isSafeInteger(value) || (value as number) < lowest)
    throw expected(`a whole number, ${lowest} or more`, path);
  return value as number;
}

export function flag(value: unknown, path: string): boolean {
  if (typeof value !== 'boolean') throw expected('true or false', path);
  return value;
}

/** To be thrown when the value at this path is something else than `what`. */
export function expected(what: string, path: string): ShapeFault {
  return new ShapeFault(path, `expected ${what}`);
}
