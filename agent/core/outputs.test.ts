import { describe, expect, test } from 'vitest';
import { byPath, isOutput, isReserved, outputPath } from './outputs.js';

const STATE = { sizeBytes: 1n, modifiedNs: 2n, changedNs: 3n, inode: 4n };

describe('an output', () => {
  test('is a file that is new or another than before', () => {
    expect(isOutput(undefined, STATE)).toBe(true);
    expect(isOutput(STATE, { ...STATE })).toBe(false);
    for (const key of Object.keys(STATE)) expect(isOutput(STATE, { ...STATE, [key]: 9n })).toBe(true);
  });

  test('has a name that can be given to others', () => {
    expect(outputPath(Buffer.from('a/größe.txt'))).toEqual({ path: 'a/größe.txt' });
    expect(outputPath(Buffer.from('\ufeffbom'))).toEqual({ path: '\ufeffbom' });
    expect(outputPath(Buffer.from([0x61, 0xff]))).toEqual({ fault: 'its name is not valid UTF-8' });
    expect(outputPath(Buffer.from('a\nb'))).toEqual({
      fault: 'its name must not contain control characters',
    });
  });

  test("is nothing that belongs to the instance program, at the directory's top", () => {
    expect(isReserved('.workbench-cache/x')).toBe(true);
    expect(isReserved('a/.workbench-x')).toBe(false);
  });

  test('is sorted by path, the same everywhere', () => {
    expect(
      [{ path: 'ä' }, { path: 'b' }, { path: 'B' }, { path: 'a/b' }, { path: 'a' }].sort(byPath),
    ).toEqual([{ path: 'B' }, { path: 'a' }, { path: 'a/b' }, { path: 'b' }, { path: 'ä' }]);
  });
});
