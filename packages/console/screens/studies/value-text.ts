import type { Language } from '../../base/preferences.js';
import type { Column } from './points.js';

const DIGITS = 6;
const LARGE = 1e7;
const SMALL = 1e-4;

const formats = new Map<string, Intl.NumberFormat>();

function formatOf(language: Language, notation: 'standard' | 'scientific'): Intl.NumberFormat {
  const key = `${language} ${notation}`;
  const known = formats.get(key);
  if (known) return known;
  const format = new Intl.NumberFormat(language, {
    maximumSignificantDigits: DIGITS,
    useGrouping: false,
    notation,
  });
  formats.set(key, format);
  return format;
}

/** A value of a point with six digits: `0.25`, `1.5E-9`. */
export function valueText(value: number | string | undefined, language: Language): string {
  if (value === undefined) return '';
  if (typeof value === 'string') return value;
  const size = Math.abs(value);
  const isUsual = size === 0 || !Number.isFinite(size) || (size >= SMALL && size < LARGE);
  return formatOf(language, isUsual ? 'standard' : 'scientific').format(value);
}

/** `stress [MPa]` */
export function headingOf({ name, unit }: Pick<Column, 'name' | 'unit'>): string {
  return unit === undefined ? name : `${name} [${unit}]`;
}
