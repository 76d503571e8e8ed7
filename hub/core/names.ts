/**
 * Names of users of the identity provider, checked by Unicode's rules for identifiers (UTS 39): no name may look like another
 * one, since tasks belong to names. Usernames of the hub's own users are plain ASCII (accounts.ts).
 */

/** Scripts in everyday use; a name has letters of one only. */
const SCRIPTS = [
  ...['Arabic', 'Armenian', 'Bengali', 'Bopomofo', 'Cyrillic', 'Devanagari', 'Ethiopic', 'Georgian', 'Greek'],
  ...[
    'Gujarati',
    'Gurmukhi',
    'Hangul',
    'Han',
    'Hebrew',
    'Hiragana',
    'Kannada',
    'Katakana',
    'Khmer',
    'Lao',
    'Latin',
  ],
  ...['Malayalam', 'Myanmar', 'Oriya', 'Sinhala', 'Tamil', 'Telugu', 'Thaana', 'Thai', 'Tibetan'],
];

/** Scripts that are written together and whose letters cannot be confused. */
const SETS = [
  ...SCRIPTS.map((script) => [script]),
  ['Latin', 'Han', 'Hiragana', 'Katakana'],
  ['Latin', 'Han', 'Bopomofo'],
  ['Latin', 'Han', 'Hangul'],
].map(
  (scripts) =>
    new RegExp(
      `^(?:${['Common', 'Inherited', ...scripts].map((name) => `\\p{scx=${name}}`).join('|')})*$`,
      'u',
    ),
);

/** Invisible letters and marks. */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\u2800]/u;

/** More marks on a letter than any language uses, or a mark without a letter. */
const STRAY_MARKS = /^\p{M}|\p{M}{4}| \p{M}/u;

/** Reason why a name could be confused with another one; undefined when it could not. The name is printable and in the composed form of
 *  Unicode (NFC). */
export function likenessFault(name: string): string | undefined {
  if (INVISIBLE.test(name)) return 'it has characters that cannot be seen';
  if (name.normalize('NFKC') !== name) return 'it has full-width or other letters that stand for plain ones';
  if (STRAY_MARKS.test(name)) return 'it has marks that belong to no letter';
  if (!SETS.some((set) => set.test(name))) return 'it mixes letters of different scripts';
  return undefined;
}

/** Look-alikes of other scripts, by the letter that they resemble. */
const DRAWN_AS = {
  a: 'аαɑ',
  b: 'Ьƅ',
  c: 'сϲ',
  d: 'ԁ',
  e: 'еҽ',
  g: 'ɡց',
  h: 'һհ',
  i: 'іιɩ',
  j: 'јϳ',
  k: 'кκ',
  l: 'Ii1|іӏΙІӀ',
  n: 'ոп',
  o: '0оοօσ',
  p: 'рρ',
  q: 'ԛգ',
  r: 'гᴦ',
  s: 'ѕ',
  t: 'тτ',
  u: 'υսц',
  v: 'νѵ',
  w: 'ԝωա',
  x: 'хχ',
  y: 'уγү',
  z: 'ᴢ',
  A: 'АΑ',
  B: 'ВΒ',
  C: 'СϹ',
  E: 'ЕΕ',
  H: 'НΗ',
  J: 'ЈͿ',
  K: 'КΚ',
  M: 'МΜ',
  N: 'Ν',
  O: 'ОΟՕ',
  P: 'РΡ',
  S: 'ЅՏ',
  T: 'ТΤ',
  X: 'ХΧ',
  Y: 'ҮΥ',
  Z: 'Ζ',
} as const;

const PLAIN = new Map(
  Object.entries(DRAWN_AS).flatMap(([plain, letters]) =>
    [...letters].map((letter) => [letter, plain] as const),
  ),
);

/** Skeleton of a name, for comparison only: names that are easily confused have the same. */
export function likenessOf(name: string): string {
  return [...name.normalize('NFKC')]
    .map((letter) => PLAIN.get(letter) ?? letter)
    .join('')
    .toLowerCase()
    .replaceAll(/[il1]/g, 'l')
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w');
}

/** The name in quotes, with characters outside ASCII escaped: `"\u{ff41}nna"`. */
export function escapedName(name: string): string {
  const shown = [...JSON.stringify(name)].map((letter) => {
    const code = letter.codePointAt(0) ?? 0;
    return code >= 0x20 && code < 0x7f ? letter : `\\u{${code.toString(16)}}`;
  });
  return shown.join('');
}
