import { expect, it } from 'vitest';
import { Pace } from './pace.js';

const times = (count: number, endedAtMs: number, tookMs = 0) =>
  Array.from({ length: count }, () => ({ startedAtMs: endedAtMs - tookMs, endedAtMs }));

it('the pace of a study counts the ends of the last second', () => {
  const pace = new Pace();
  expect(pace.endsIn(250, 0)).toBe(0);
  pace.add(times(10, 1000), 1000);
  pace.add([], 1100);
  pace.add(times(90, 1500), 1500);
  expect(pace.endsIn(250, 1500)).toBe(25);
  expect(pace.endsIn(1000, 1999)).toBe(100);
  expect(pace.endsIn(1000, 2000)).toBe(90);
  expect(pace.endsIn(1000, 2500)).toBe(0);
});

it('the pace of a study counts no ends of a time before that are noted now', () => {
  const pace = new Pace();
  pace.add([...times(400, 2000), ...times(2, 4500)], 5000);
  expect(pace.endsIn(1000, 5000)).toBe(2);
});

it('the pace of a study tells how many points an instance runs in a time', () => {
  const pace = new Pace();
  expect(pace.runIn(100, 0)).toBe(0);
  pace.add([...times(4, 1000, 5), ...times(1, 1000, 30)], 1000);
  expect(pace.runIn(100, 1000)).toBe(10);
  pace.add(times(10, 2500), 2500);
  expect(pace.runIn(100, 2500)).toBe(1000);
});
