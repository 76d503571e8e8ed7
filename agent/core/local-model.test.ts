import { describe, expect, test } from 'vitest';
import { baseName, liesIn, mountedPath } from './local-model.js';

describe('a path to a model', () => {
  const mounts = { '\\\\Server\\share': '/mnt/share/', '\\\\server\\share\\deep': '/mnt/deep' };

  test.each([
    ['/models/a.wbpz', '/models/a.wbpz'],
    ['C:\\models\\a.wbpz', 'C:\\models\\a.wbpz'],
    ['\\\\server\\SHARE\\x\\a.wbpz', '/mnt/share/x/a.wbpz'],
    ['//server/share/x/a.wbpz', '/mnt/share/x/a.wbpz'],
    ['\\\\server\\share\\deep\\a.wbpz', '/mnt/deep/a.wbpz'],
    ['\\\\server\\shared\\a.wbpz', undefined],
    ['\\\\server\\share', undefined],
    ['\\\\other\\share\\a.wbpz', undefined],
  ])('%s is %s', (path, expected) => {
    expect(mountedPath(path, mounts)).toBe(expected);
  });

  test.each([
    ['/a/b', '/a', true],
    ['/a/b', '/a/', true],
    ['/a/b', '/', true],
    ['/ab', '/a', false],
    ['/a', '/a', false],
    ['/b/a', '/a', false],
    ['C:\\a\\b', 'C:\\a', true],
  ])('%s in %s: %s', (path, folder, expected) => {
    expect(liesIn(path, folder)).toBe(expected);
  });

  test('ends with its own name', () => {
    expect(baseName('/a/b.wbpz')).toBe('b.wbpz');
    expect(baseName('\\\\server\\share\\b.wbpz')).toBe('b.wbpz');
    expect(baseName('/a/')).toBe('');
  });
});
