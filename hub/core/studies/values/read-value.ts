/** Results of reading, and the forms of numbers in outputs of solvers. */

import type { ValueRule, ValueSource } from './value-rules.js';

/** Value without a number or text; the reason is a sentence for engineers. */
export interface MissingValue {
  readonly kind: 'MISSING';
  readonly reason: string;
  /** True when the hub no longer has the file, or cannot read it: the value was there, and another run would give it. */
  readonly isLost?: true;
}

/** Value of one rule; NaN and infinities are numbers, too. */
export type ReadValue =
  | { readonly kind: 'NUMBER'; readonly value: number }
  /** At most {@link MAX_TEXT_LENGTH} characters. */
  | { readonly kind: 'TEXT'; readonly value: string }
  | MissingValue;

/** Limit of a text in UTF-16 units; a longer one is missing, since a part of it could be taken for the whole. */
export const MAX_TEXT_LENGTH = 1000;

const MAX_QUOTED_LENGTH = 40;

const SPECIAL_NUMBERS: ReadonlyMap<string, number> = new Map([
  ['nan', Number.NaN],
  ['inf', Number.POSITIVE_INFINITY],
  ['infinity', Number.POSITIVE_INFINITY],
]);

export function missing(reason: string): MissingValue {
  return { kind: 'MISSING', reason };
}

/** Name of a source in a sentence. */
export function sourceName(source: ValueSource): string {
  return source.kind === 'FILE' ? source.path : 'the log';
}

/** Quotation for a sentence, with at most 40 characters of the text. */
export function quoted(text: string): string {
  const part = text.slice(0, MAX_QUOTED_LENGTH);
  return JSON.stringify(part) + (part.length < text.length ? '…' : '');
}

/** Number in one of the forms of C, Fortran (`1.5D-03`) and Python, or undefined; blanks around it do not count. */
export function parseNumber(text: string, decimal: '.' | ','): number | undefined {
  const trimmed = text.trim();
  const [, sign, word] = /^([+-]?)([a-z]+)$/i.exec(trimmed) ?? [];
  if (word !== undefined) {
    const special = SPECIAL_NUMBERS.get(word.toLowerCase());
    return special !== undefined && sign === '-' ? -special : special;
  }
  if (decimal === ',' && trimmed.includes('.')) return undefined;
  const usual = trimmed.replace(decimal, '.');
  // No two parts can take the same digits, so that the test is linear, however long the text.
  if (!/^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[ed][+-]?\d+)?$/i.test(usual)) return undefined;
  return Number(usual.replace(/d/i, 'e'));
}

/** Value of a text that was found; `place` begins the sentence about what is wrong with it. */
export function valueOfText(
  kind: ValueRule['kind'],
  text: string,
  place: string,
  decimal: '.' | ',' = '.',
): ReadValue {
  if (kind === 'NUMBER') {
    const value = parseNumber(text, decimal);
    if (value !== undefined) return { kind, value };
    return missing(
      text.trim() === '' ? `${place} is empty` : `${place} is ${quoted(text)}, which is no number`,
    );
  }
  if (text.length <= MAX_TEXT_LENGTH) return { kind, value: text };
  return missing(`${place} has ${text.length} characters; a text has at most ${MAX_TEXT_LENGTH}`);
}
