import { expect, it } from 'vitest';
import { nameAgain } from './name-again.js';

it.each([
  ['gear', 'gear (2)'],
  ['gear (2)', 'gear (3)'],
  ['gear (9)', 'gear (10)'],
  ['point 17', 'point 17 (2)'],
  ['gear (old)', 'gear (old) (2)'],
  ['(2)', '(2) (2)'],
])('names %s once more %s', (name, again) => {
  expect(nameAgain(name)).toBe(again);
});
