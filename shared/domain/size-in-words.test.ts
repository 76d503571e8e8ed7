import { expect, test } from 'vitest';
import { exactSizeInWords, sizeInWords } from './size-in-words.js';

test.each([
  [0, '0 B', '0 bytes'],
  [1023, '1023 B', '1023 bytes'],
  [1024, '1.0 KiB', '1 KiB'],
  [1500, '1.5 KiB', '1.46 KiB (1500 bytes)'],
  [1536 * 1024 ** 2, '1.5 GiB', '1.5 GiB'],
  [2 * 1024 ** 3 + 1, '2.0 GiB', '2 GiB (2147483649 bytes)'],
  [2 ** 60, '1024.0 PiB', '1024 PiB'],
])('%i bytes are %s, exactly %s', (bytes, rounded, exact) => {
  expect(sizeInWords(bytes)).toBe(rounded);
  expect(exactSizeInWords(bytes)).toBe(exact);
});
