import { describe, expect, it } from 'vitest';
import { UsageError } from './exit-codes.js';
import { ageOf, localTime, timeOf } from './times.js';

const NOW = new Date(2026, 10, 21, 14, 30, 15);
const local = (...parts: [number, number, number, number?, number?]) => new Date(...parts).toISOString();

describe('a time of an option', () => {
  it.each([
    ['now', NOW.toISOString()],
    ['today', local(2026, 10, 21)],
    ['yesterday', local(2026, 10, 20)],
    ['2h', new Date(NOW.getTime() - 7_200_000).toISOString()],
    ['30min', new Date(NOW.getTime() - 1_800_000).toISOString()],
    ['3 d ago', new Date(NOW.getTime() - 259_200_000).toISOString()],
    ['2026-11-05', local(2026, 10, 5)],
    ['2026-11-05T06:53', local(2026, 10, 5, 6, 53)],
    ['2026-11-05 06:53', local(2026, 10, 5, 6, 53)],
    ['06:53', local(2026, 10, 21, 6, 53)],
    ['2026-11-21T06:53:00Z', '2026-11-21T06:53:00.000Z'],
    ['2026-11-21T06:53:00+02:00', '2026-11-21T04:53:00.000Z'],
  ])('may be %s', (word, expected) => {
    expect(timeOf('--from', word, NOW.getTime())).toBe(expected);
  });

  it.each(['', 'tomorrow', '2x', '2026-13-01', '2026', 'h2'])('is not %j', (word) => {
    expect(() => timeOf('--from', word, NOW.getTime())).toThrow(UsageError);
    expect(() => timeOf('--from', word, NOW.getTime())).toThrow(
      /--from .* is no time: give today, yesterday/,
    );
  });
});

describe('an age', () => {
  it.each([
    [0, '0 s'],
    [59, '59 s'],
    [61, '1 min'],
    [3600, '1 h'],
    [47 * 3600, '47 h'],
    [72 * 3600, '3 d'],
  ])('of %i seconds is %s', (seconds, expected) => {
    expect(ageOf(new Date(NOW.getTime() - seconds * 1000).toISOString(), NOW.getTime())).toBe(expected);
  });

  it('is told with the local time', () => {
    const time = local(2026, 10, 21, 14, 25);
    expect(localTime(time, NOW.getTime())).toBe('2026-11-21 14:25:00 (5 min ago)');
    expect(localTime(local(2026, 10, 21, 16, 30), NOW.getTime())).toBe('2026-11-21 16:30:00 (in 1 h)');
  });
});
