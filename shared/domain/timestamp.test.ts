import { describe, expect, it } from 'vitest';
import { buildTimestamp, localTimestamp, offsetTimestamp } from './timestamp.js';

describe('timestamps', () => {
  const timeMs = new Date(2026, 10, 21, 6, 53, 0, 123).getTime();

  it('are local time', () => {
    expect(localTimestamp(timeMs)).toBe('2026-11-21T06:53:00.123');
  });

  it('with an offset denote the same time', () => {
    expect(offsetTimestamp(timeMs)).toMatch(/^2026-11-21T06:53:00\.123[+-]\d\d:\d\d$/);
    expect(Date.parse(offsetTimestamp(timeMs))).toBe(timeMs);
    expect(buildTimestamp(timeMs)).toMatch(/^2026-11-21T06:53:00\.123[+-]\d{4}$/);
  });
});
