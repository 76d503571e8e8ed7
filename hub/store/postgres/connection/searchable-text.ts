/**
 * Texts as lists search them: in SQL, `?` of a pattern stands for one character as JavaScript counts them (UTF-16), of which some
 * signs have two. So each of these halves is written as a character of its own, from a part of Unicode that is free in the result
 * because its signs consist of such halves themselves.
 */
const HALVES = /[\uD800-\uDFFF]/g;
const FIRST_HALF = 0xd800;
const FIRST_REPLACEMENT = 0xf0000;

export function searchable(text: string): string {
  return text.replace(HALVES, (half) =>
    String.fromCodePoint(FIRST_REPLACEMENT + half.charCodeAt(0) - FIRST_HALF),
  );
}

/** The pattern as one of LIKE, with `\` before each character that LIKE gives a meaning of its own. */
export function likePattern(pattern: string): string {
  return searchable(pattern)
    .replaceAll(/[\\%_]/g, '\\$&')
    .replaceAll('*', '%')
    .replaceAll('?', '_');
}
