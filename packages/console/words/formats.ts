/** Numbers, sizes, times and durations as the reader's language writes them. */
import type { Language } from '../base/preferences.js';

const SIZE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
const MINUTE_S = 60;
const HOUR_S = 3600;
const DAY_S = 86_400;

export function numberText(value: number, language: Language): string {
  return new Intl.NumberFormat(language).format(value);
}

export function sizeText(bytes: number, language: Language): string {
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), SIZE_UNITS.length - 1);
  const value = bytes / 1024 ** power;
  const digits = power === 0 || value >= 100 ? 0 : 1;
  const number = new Intl.NumberFormat(language, { maximumFractionDigits: digits }).format(value);
  return `${number} ${SIZE_UNITS[power]}`;
}

/** `4.2 s`, `3 min 05 s`, `2 h 10 min`, `3 d 4 h`. */
export function durationText(ms: number, language: Language): string {
  const seconds = Math.max(ms, 0) / 1000;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) {
    const format = new Intl.NumberFormat(language, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
    return `${format.format(seconds)} s`;
  }
  const whole = Math.floor(seconds);
  if (whole < MINUTE_S) return `${whole} s`;
  if (whole < HOUR_S) return `${Math.floor(whole / MINUTE_S)} min ${two(whole % MINUTE_S)} s`;
  if (whole < DAY_S) return `${Math.floor(whole / HOUR_S)} h ${two(Math.floor(whole / MINUTE_S) % 60)} min`;
  return `${Math.floor(whole / DAY_S)} d ${Math.floor(whole / HOUR_S) % 24} h`;
}

/** A duration as a mark of an axis: without a fraction that is 0. */
export function durationMarkText(ms: number, language: Language): string {
  if (ms === 0) return '0';
  const isWholeSeconds = ms >= 1000 && ms < MINUTE_S * 1000 && ms % 1000 === 0;
  return isWholeSeconds ? `${ms / 1000} s` : durationText(ms, language);
}

/** `3 minutes ago`. */
export function relativeText(atMs: number, nowMs: number, language: Language): string {
  const format = new Intl.RelativeTimeFormat(language, { numeric: 'auto', style: 'short' });
  const seconds = Math.round((atMs - nowMs) / 1000);
  const size = Math.abs(seconds);
  if (size < 5) return format.format(0, 'second');
  if (size < MINUTE_S) return format.format(seconds, 'second');
  if (size < HOUR_S) return format.format(Math.trunc(seconds / MINUTE_S), 'minute');
  if (size < DAY_S) return format.format(Math.trunc(seconds / HOUR_S), 'hour');
  return format.format(Math.trunc(seconds / DAY_S), 'day');
}

/** Date and time; today's without the date, with `long` also zone and seconds. */
export function absoluteText(atMs: number, nowMs: number, language: Language, long = false): string {
  const at = new Date(atMs);
  if (long) return at.toLocaleString(language, { dateStyle: 'medium', timeStyle: 'long' });
  if (at.toDateString() === new Date(nowMs).toDateString())
    return at.toLocaleTimeString(language, { timeStyle: 'medium' });
  return at.toLocaleString(language, { dateStyle: 'short', timeStyle: 'short' });
}

function two(number: number): string {
  return String(number).padStart(2, '0');
}
