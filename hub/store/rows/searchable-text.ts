/**
 * Texts as lists search them: in SQL, `?` of a pattern stands for one character as JavaScript counts them (UTF-16), of which some
 * signs have two. So each of these halves is written as a character of its own, from a part of Unicode that is free in the result
 * because its signs consist of such halves themselves. NUL, at which databases end a text, is written as another one.
 */
const REPLACED = /[\0\uD800-\uDFFF]/g;
const REPLACEMENTS = /[\u{F0000}-\u{F0800}]/gu;
const FIRST_HALF = 0xd800;
const FIRST_REPLACEMENT = 0xf0000;
const REPLACEMENT_OF_NUL = 0xf0800;

export function searchable(text: string): string {
  // Most texts have none of these.
  if (text.search(REPLACED) < 0) return text;
  return text.replace(REPLACED, (each) =>
    String.fromCodePoint(
      each === '\0' ? REPLACEMENT_OF_NUL : FIRST_REPLACEMENT + each.charCodeAt(0) - FIRST_HALF,
    ),
  );
}

/** The text of which {@link searchable} made this one. */
export function fromSearchable(text: string): string {
  return text.replace(REPLACEMENTS, (each) => {
    const code = each.codePointAt(0) as number;
    return code === REPLACEMENT_OF_NUL ? '\0' : String.fromCharCode(FIRST_HALF + code - FIRST_REPLACEMENT);
  });
}

/** The pattern as one of LIKE, with `\` before each character that LIKE gives a meaning of its own. */
export function likePattern(pattern: string): string {
  return searchable(pattern)
    .replaceAll(/[\\%_]/g, '\\$&')
    .replaceAll('*', '%')
    .replaceAll('?', '_');
}

/** The pattern as one of GLOB, to which `[` has a meaning of its own. */
export function globPattern(pattern: string): string {
  return searchable(pattern).replaceAll('[', '[[]');
}
