import { describe, expect, it, test } from 'vitest';
import { byPath, MAX_PATH_LENGTH, pathConflict, relativePathFault } from './relative-path.js';

describe('a relative path', () => {
  it.each(['a', 'a/b.txt', 'größe/模型.wbpz', 'with space', '.hidden', 'a..b', '...', 'con'])(
    'may be %j',
    (path) => {
      expect(relativePathFault(path)).toBeUndefined();
    },
  );

  it.each([
    ['', 'must not be empty'],
    ['/a', 'without a leading "/"'],
    ['a\\b', 'must use "/"'],
    ['C:/a', 'without a drive letter'],
    ['c:a', 'without a drive letter'],
    ['../a', '".." as a part'],
    ['a/../b', '".." as a part'],
    ['a/.', '"." as a part'],
    ['a//b', 'an empty part'],
    ['a/', 'an empty part'],
    ['a\nb', 'control characters'],
    ['a\0', 'control characters'],
    ['\ud800', 'well-formed'],
    ['ä'.repeat(128), 'longer than 255 bytes'],
    ['a/'.repeat(MAX_PATH_LENGTH), `at most ${MAX_PATH_LENGTH} characters`],
  ])('must not be %j', (path, fault) => {
    expect(relativePathFault(path)).toContain(fault);
  });
});

describe('paths together', () => {
  it('have no conflict when all are different files', () => {
    expect(pathConflict(['a/b', 'a/c', 'ab', 'd'])).toBeUndefined();
  });

  it.each([
    [['a', 'b', 'a'], 2, 'given more than once'],
    [['a/b', 'a'], 1, 'also a folder'],
    [['a', 'a/b/c'], 1, 'lies in "a", which is a file'],
    [['a/b', 'a/b/c'], 1, 'lies in "a/b"'],
  ])('%j conflict', (paths, index, fault) => {
    expect(pathConflict(paths)).toEqual({ index, fault: expect.stringContaining(fault) });
  });
});

test('paths are sorted the same on every host', () => {
  const paths = ['ä', 'b', 'B', 'a/b', 'a'].map((path) => ({ path }));
  expect(paths.sort(byPath).map(({ path }) => path)).toEqual(['B', 'a', 'a/b', 'b', 'ä']);
});
