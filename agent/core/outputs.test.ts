import { describe, expect, test } from 'vitest';
import { isOutput, isReserved, outputPath, outputsFault } from './outputs.js';

const STATE = { sizeBytes: 1n, modifiedNs: 2n, changedNs: 3n, inode: 4n };

describe('an output', () => {
  test('is a new or changed file', () => {
    expect(isOutput(undefined, STATE)).toBe(true);
    expect(isOutput(STATE, { ...STATE })).toBe(false);
    for (const key of Object.keys(STATE)) expect(isOutput(STATE, { ...STATE, [key]: 9n })).toBe(true);
  });

  test('has a portable name', () => {
    expect(outputPath(Buffer.from('a/größe.txt'))).toEqual({ path: 'a/größe.txt' });
    expect(outputPath(Buffer.from('\ufeffbom'))).toEqual({ path: '\ufeffbom' });
    expect(outputPath(Buffer.from([0x61, 0xff]))).toEqual({ fault: 'its name is not valid UTF-8' });
    expect(outputPath(Buffer.from('a\nb'))).toEqual({
      fault: 'its name must not contain control characters',
    });
  });

  test('is no file with a reserved name at the top of the directory', () => {
    expect(isReserved('.workbench-cache/x')).toBe(true);
    expect(isReserved('a/.workbench-x')).toBe(false);
  });
});

describe('outputs', () => {
  const limits = { totalBytes: 3 * 1024 ** 3, fileBytes: 2 * 1024 ** 3, files: 3 };
  const file = (path: string, sizeBytes: number) => ({ path, sizeBytes });

  test('may be as many and as large as the limits say', () => {
    const gib = 1024 ** 3;
    expect(outputsFault([], limits)).toBeUndefined();
    expect(outputsFault([file('a', 2 * gib), file('b', gib), file('c', 0)], limits)).toBeUndefined();
  });

  test('beyond the limits are named with their sizes and the setting', () => {
    const many = ['a', 'b', 'c', 'd'].map((path) => file(path, 0));
    expect(outputsFault(many, limits)).toBe(
      'the job left more than 3 output files, and this agent takes no more of a task (setting "limits.outputFiles")',
    );
    expect(outputsFault([file('a', 1), file('in/b', 2 * 1024 ** 3 + 1024 ** 2)], limits)).toBe(
      'the job left the output file "in/b" of 2 GiB (2148532224 bytes), and this agent takes at most 2 GiB in one file (setting "limits.outputFile")',
    );
    expect(outputsFault([file('a', 2 * 1024 ** 3), file('b', 1.5 * 1024 ** 3)], limits)).toBe(
      'the job left 2 output files with 3.5 GiB in all, and this agent takes at most 3 GiB of a task (setting "limits.taskOutputs")',
    );
  });
});
