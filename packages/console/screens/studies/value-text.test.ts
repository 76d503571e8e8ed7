import { expect, it } from 'vitest';
import { valueText } from './value-text.js';

it.each([
  [0.1 + 0.2, 'en', '0.3'],
  [1_234_567.8, 'en', '1234570'],
  [1.5e-9, 'de', '1,5E-9'],
  [-2.5e12, 'en', '-2.5E12'],
  [0, 'de', '0'],
  ['VG 32', 'en', 'VG 32'],
  [undefined, 'en', ''],
] as const)('writes %s in %s as %s', (value, language, text) => {
  expect(valueText(value, language)).toBe(text);
});
