/** Times that people write and read: relative ones, and those of the place where they are. */
import { UsageError } from './exit-codes.js';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const LENGTH_MS: Readonly<Record<string, number>> = {
  s: SECOND_MS,
  min: MINUTE_MS,
  m: MINUTE_MS,
  h: HOUR_MS,
  d: DAY_MS,
  w: 7 * DAY_MS,
};

const ALLOWED =
  'today, yesterday, 2h, 30min, 3d or 1w (ago), 2026-11-21, 2026-11-21T06:53, 06:53, all in local time, or 2026-11-21T06:53:00Z';

/** The time that a word means, in ISO 8601: a day is its beginning. Throws {@link UsageError} for a word that means none. */
export function timeOf(option: string, word: string, nowMs = Date.now()): string {
  const timeMs = timeMsOf(word.trim(), nowMs);
  if (timeMs === undefined || Number.isNaN(timeMs))
    throw new UsageError(`${option} ${JSON.stringify(word)} is no time: give ${ALLOWED}`);
  return new Date(timeMs).toISOString();
}

function timeMsOf(word: string, nowMs: number): number | undefined {
  if (word === 'now') return nowMs;
  if (word === 'today') return beginOfDay(nowMs, 0);
  if (word === 'yesterday') return beginOfDay(nowMs, -1);
  const [, count, unit = ''] = /^(\d{1,6}) ?(s|min|m|h|d|w)(?: ago)?$/.exec(word) ?? [];
  if (count !== undefined) return nowMs - Number(count) * (LENGTH_MS[unit] ?? 0);
  const [, hours, minutes] = /^(\d\d):(\d\d)$/.exec(word) ?? [];
  if (hours !== undefined) return new Date(nowMs).setHours(Number(hours), Number(minutes), 0, 0);
  // Without a zone, JavaScript reads a date alone as one of UTC, and a date with a time as local.
  if (/^\d{4}-\d\d-\d\d$/.test(word)) return Date.parse(`${word}T00:00:00`);
  return /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/.test(word) ? Date.parse(word.replace(' ', 'T')) : undefined;
}

function beginOfDay(nowMs: number, days: number): number {
  const day = new Date(nowMs);
  day.setHours(0, 0, 0, 0);
  day.setDate(day.getDate() + days);
  return day.getTime();
}

/** How long ago a time is, such as `12 min`; undefined for none. */
export function ageOf(time: string | undefined, nowMs = Date.now()): string | undefined {
  if (time === undefined) return undefined;
  return lengthInWords(Math.max(0, nowMs - Date.parse(time)));
}

/** A local time with how far it is: `2026-11-21 07:53:00 (12 min ago)`; undefined for none. */
export function localTime(time: string | undefined, nowMs = Date.now()): string | undefined {
  if (time === undefined) return undefined;
  const at = new Date(time);
  const two = (value: number) => String(value).padStart(2, '0');
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const clock = [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(':');
  const away = lengthInWords(Math.abs(nowMs - at.getTime()));
  return `${day} ${clock} (${at.getTime() > nowMs ? `in ${away}` : `${away} ago`})`;
}

function lengthInWords(ms: number): string {
  if (ms < MINUTE_MS) return `${Math.floor(ms / SECOND_MS)} s`;
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min`;
  return ms < 2 * DAY_MS ? `${Math.floor(ms / HOUR_MS)} h` : `${Math.floor(ms / DAY_MS)} d`;
}
