/** Texts as PostgreSQL can store them: it knows no NUL character, which is written as two others. */

/** A character that Unicode reserves for such uses. */
const ESCAPE = '\uFDD0';
const NUL = '\0';

/** Texts within arrays are changed, too; any other value is returned as it is. */
export function toStored(value: unknown): unknown {
  if (typeof value === 'string') {
    return value.includes(NUL) || value.includes(ESCAPE)
      ? value.replaceAll(ESCAPE, `${ESCAPE}1`).replaceAll(NUL, `${ESCAPE}0`)
      : value;
  }
  return Array.isArray(value) ? value.map(toStored) : value;
}

/** The reverse of {@link toStored}, also within rows and parsed JSON. */
export function fromStored(value: unknown): unknown {
  if (typeof value === 'string') {
    return value.includes(ESCAPE)
      ? value.replaceAll(`${ESCAPE}0`, NUL).replaceAll(`${ESCAPE}1`, ESCAPE)
      : value;
  }
  if (Array.isArray(value)) return value.map(fromStored);
  if (value === null || typeof value !== 'object' || Buffer.isBuffer(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, fromStored(each)]));
}
