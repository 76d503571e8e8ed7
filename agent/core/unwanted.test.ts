import { expect, it } from 'vitest';
import { isUnwanted } from './unwanted.js';

it('an agent with an end stops when its credential has been refused for three minutes, another one never', () => {
  expect(isUnwanted({ stopAfter: 3_600_000 }, 179_999)).toBe(false);
  expect(isUnwanted({ stopAfter: 3_600_000 }, 180_000)).toBe(true);
  expect(isUnwanted({ stopAfter: null }, 10_000_000)).toBe(false);
});
