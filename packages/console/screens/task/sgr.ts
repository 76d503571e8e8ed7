/** Colors and weights that programs print by escape sequences (SGR), as parts of a line with classes. Every other escape
 *  sequence is left out. */

export interface Style {
  /** 0 to 7 normal, 8 to 15 bright. */
  readonly color?: number;
  readonly ground?: number;
  readonly isBold?: boolean;
  readonly isDim?: boolean;
  readonly isItalic?: boolean;
  readonly isUnderlined?: boolean;
}

export interface StyledText {
  readonly text: string;
  readonly style: Style;
}

export const PLAIN: Style = {};

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
const SEQUENCE = /\x1b(?:\[([0-9;:?<=>]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f]/g;

/** The parts of a line that begins with this style, and the style that the next line begins with. */
export function styledLine(line: string, initial: Style): { parts: StyledText[]; style: Style } {
  const parts: StyledText[] = [];
  let style = initial;
  let from = 0;
  // A carriage return goes back to the begin of the line: what a terminal shows is what comes after the last one.
  const shown = line.slice(line.replace(/\r+$/, '').lastIndexOf('\r') + 1);
  const add = (text: string) => {
    const clean = text.replace(CONTROLS, '');
    if (clean !== '') parts.push({ text: clean, style });
  };
  for (const match of shown.matchAll(SEQUENCE)) {
    add(shown.slice(from, match.index));
    from = match.index + match[0].length;
    if (match[2] === 'm') style = changed(style, match[1] ?? '');
  }
  add(shown.slice(from));
  return { parts, style };
}

/** The line without escape sequences, as it is searched and copied. */
export function plainLine(line: string): string {
  return styledLine(line, PLAIN)
    .parts.map(({ text }) => text)
    .join('');
}

/** Codes before a color of the palette, or before red, green and blue: whether they color the text or its ground. */
const EXTENDED: Readonly<Record<number, 'color' | 'ground'>> = { 38: 'color', 48: 'ground' };

function changed(style: Style, parameters: string): Style {
  const codes = parameters.split(/[;:]/).map((code) => Number(code === '' ? 0 : code));
  let now: Style = style;
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? 0;
    const extended = EXTENDED[code];
    if (extended === undefined) {
      now = withCode(now, code);
      continue;
    }
    const isPalette = codes[at + 1] === 5;
    const color = codes[at + 2] ?? 0;
    // The first 16 of the 256 colors have a place in every theme; the others are left out.
    if (isPalette && color < 16) now = { ...now, [extended]: color };
    at += isPalette ? 2 : 4;
  }
  return now;
}

/** Styles of the codes that choose no color. */
const WEIGHTS: Readonly<Record<number, Style>> = {
  1: { isBold: true },
  2: { isDim: true },
  3: { isItalic: true },
  4: { isUnderlined: true },
  22: { isBold: false, isDim: false },
  23: { isItalic: false },
  24: { isUnderlined: false },
};

/** Rows of eight codes that choose a color, the first of which has this number. */
const COLORS = [
  { code: 30, chooses: 'color', first: 0 },
  { code: 40, chooses: 'ground', first: 0 },
  { code: 90, chooses: 'color', first: 8 },
  { code: 100, chooses: 'ground', first: 8 },
] as const;

function withCode(style: Style, code: number): Style {
  const { color: _, ...noColor } = style;
  const { ground: __, ...noGround } = style;
  if (code === 0) return PLAIN;
  if (code === 39) return noColor;
  if (code === 49) return noGround;
  const row = COLORS.find((each) => code >= each.code && code < each.code + 8);
  if (row) return { ...style, [row.chooses]: row.first + code - row.code };
  const weight = WEIGHTS[code];
  return weight ? { ...style, ...weight } : style;
}

/** Classes of a style, which the stylesheet gives colors of the theme. */
export function classesOf({ color, ground, isBold, isDim, isItalic, isUnderlined }: Style): string {
  return [
    color === undefined ? '' : `sgr-${color}`,
    ground === undefined ? '' : `sgr-on-${ground}`,
    isBold ? 'sgr-bold' : '',
    isDim ? 'sgr-dim' : '',
    isItalic ? 'sgr-italic' : '',
    isUnderlined ? 'sgr-underlined' : '',
  ]
    .filter((each) => each !== '')
    .join(' ');
}
