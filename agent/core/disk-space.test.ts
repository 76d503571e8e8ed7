import { describe, expect, test } from 'vitest';
import { type DiskSpace, fullness } from './disk-space.js';

const MIB = 1024 ** 2;
const TIB = 1024 ** 4;

function room(freeBytes: number, sizeBytes: number, freeFiles: number | null = 1000): DiskSpace {
  return { use: 'working directories', freeBytes, sizeBytes, freeFiles };
}

describe('a disk', () => {
  test.each([
    ['with nothing left', room(0, TIB), '0 bytes of 1 TiB were free for working directories'],
    ['with less than a piece', room(16 * MIB - 1, TIB), /^16 MiB \(16777215 bytes\) of 1 TiB/],
    [
      'that is small, with less than a hundredth',
      room(80_000, 8 * MIB),
      /^78.13 KiB \(80000 bytes\) of 8 MiB/,
    ],
    [
      'that takes no more files',
      room(MIB, 8 * MIB, 15),
      'no more files could be created for working directories',
    ],
  ])('%s is full', (_, full, words) => {
    expect(fullness([room(TIB, TIB), full])).toMatch(words);
  });

  test.each([
    ['with more than a piece', room(16 * MIB, TIB)],
    ['that is small, with a hundredth', room(84_000, 8 * MIB)],
    ['that takes a few more files', room(MIB, 8 * MIB, 16)],
    ['that does not count its files', room(MIB, 8 * MIB, null)],
    ['of which nothing is known', room(0, 0, null)],
  ])('%s is not full', (_, other) => {
    expect(fullness([other])).toBeUndefined();
  });
});
