/** The three formats of timestamps in the interface. All take milliseconds since 1970 and use the local zone. */

/** `2026-11-21T06:53:00.123`: local time without offset, for tasks and instances (contract 1.5). */
export function localTimestamp(timeMs: number): string {
  const date = new Date(timeMs);
  date.setTime(timeMs - date.getTimezoneOffset() * 60_000);
  return date.toISOString().slice(0, -1);
}

/** Text of the latest second: lists and events have many times of the same one. */
let latest = { second: Number.NaN, before: '', after: '' };

/** `2026-11-21T06:53:00.123+01:00`, for error bodies (contract 1.5). */
export function offsetTimestamp(timeMs: number): string {
  const second = Math.floor(timeMs / 1000);
  if (latest.second !== second) {
    latest = { second, before: localTimestamp(second * 1000).slice(0, -3), after: offset(timeMs, ':') };
  }
  const ms = Math.trunc(timeMs - second * 1000);
  return `${latest.before}${ms < 10 ? '00' : ms < 100 ? '0' : ''}${ms}${latest.after}`;
}

/** `2022-05-27T13:50:08.523+0100`, for build dates (contract 1.5). */
export function buildTimestamp(timeMs: number): string {
  return `${localTimestamp(timeMs)}${offset(timeMs, '')}`;
}

function offsetMinutes(timeMs: number): number {
  return -new Date(timeMs).getTimezoneOffset();
}

function offset(timeMs: number, separator: string): string {
  const minutes = offsetMinutes(timeMs);
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0');
  return `${minutes < 0 ? '-' : '+'}${two(Math.abs(minutes) / 60)}${separator}${two(Math.abs(minutes) % 60)}`;
}
