/**
 * Names of people that come from outside, after Unicode's rules for identifiers (UTS 39): a name must not be able to look like
 * another one, since the ownership of tasks hangs on it. Names of the hub's own users are plain ASCII (accounts.ts).
 */

/** Scripts in everyday use, of which a name has one. */
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

/** Those that are written together, and whose letters are told apart. */
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

/** Letters and marks that are drawn as nothing. */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\u2800]/u;

/** More marks than any language puts on a letter, or a mark on no letter. */
const STRAY_MARKS = /^\p{M}|\p{M}{4}| \p{M}/u;

/** Why a name could be taken for another one; undefined when it cannot. The name is one that can be shown, in the composed form
 *  of Unicode (NFC). */
export function likenessFault(name: string): string | undefined {
  if (INVISIBLE.test(name)) return 'it has characters that cannot be seen';
  if (name.normalize('NFKC') !== name) return 'it has full-width or other letters that stand for plain ones';
  if (STRAY_MARKS.test(name)) return 'it has marks that belong to no letter';
  if (!SETS.some((set) => set.test(name))) return 'it mixes letters of different scripts';
  return undefined;
}

/** Letters of other scripts that are drawn as these. */
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

/** What a name looks like: two names that are hard to tell apart have the same. Only good for being compared. */
export function likenessOf(name: string): string {
  return [...name.normalize('NFKC')]
    .map((letter) => PLAIN.get(letter) ?? letter)
    .join('')
    .toLowerCase()
    .replaceAll(/[il1]/g, 'l')
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w');
}

/** In quotes, with all that is not plain ASCII by its number: `"\u{ff41}nna"`. */
export function escapedName(name: string): string {
  const shown = [...JSON.stringify(name)].map((letter) => {
    const code = letter.codePointAt(0) ?? 0;
    return code >= 0x20 && code < 0x7f ? letter : `\\u{${code.toString(16)}}`;
  });
  return shown.join('');
}
