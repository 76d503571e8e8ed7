import { expect, it } from 'vitest';
import { InstanceNumbers } from './instance-numbers.js';

it('gives the same number to rows of one instance, and forgets it with the last of them', () => {
  const numbers = new InstanceNumbers();
  const [first, second] = [numbers.hold('sim-1'), numbers.hold('sim-2')];
  expect([first, second, numbers.hold('sim-1'), numbers.hold(null)]).toEqual([1, 2, 1, 0]);
  numbers.release(first);
  expect(numbers.of('sim-1')).toBe(1);
  numbers.release(first);
  numbers.release(0);
  expect([numbers.of('sim-1'), numbers.size]).toEqual([undefined, 1]);
});

it('keeps nothing of ten thousand instances that have come and gone', () => {
  const numbers = new InstanceNumbers();
  const given = new Set<number>();
  for (let at = 0; at < 10_000; at++) {
    const number = numbers.hold(`sim-${at}`);
    given.add(number);
    numbers.release(number);
  }
  expect([numbers.size, given.size]).toEqual([0, 1]);
});
