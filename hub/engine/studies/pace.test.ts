import { expect, it } from 'vitest';
import { Pace } from './pace.js';

it('the pace of a study counts the ends of the last second', () => {
  const pace = new Pace();
  expect(pace.endsIn(250, 0)).toBe(0);
  pace.add(10, 1000);
  pace.add(0, 1100);
  pace.add(90, 1500);
  expect(pace.endsIn(250, 1500)).toBe(25);
  expect(pace.endsIn(1000, 1999)).toBe(100);
  expect(pace.endsIn(1000, 2000)).toBe(90);
  expect(pace.endsIn(1000, 2500)).toBe(0);
});

it('the pace of a study forgets earlier ends', () => {
  const pace = new Pace();
  pace.add(1000, 0);
  pace.add(2, 5000);
  expect(pace.endsIn(1000, 5000)).toBe(2);
});
