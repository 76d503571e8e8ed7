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

  it('with an offset are right in any order, also within a second and before 1970', () => {
    const times = [0, 1, 999, 1000, 999, -1, -1000, 1_795_000_000_007, 1_795_000_000_070, 1_780_000_000_700];
    for (const each of times) {
      expect(offsetTimestamp(each)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d$/);
      expect(Date.parse(offsetTimestamp(each))).toBe(each);
    }
    expect(() => offsetTimestamp(Number.NaN)).toThrow(RangeError);
  });
});
