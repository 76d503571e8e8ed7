import { describe, expect, it } from 'vitest';
import { file, pathWithin, UnsafePathError } from './node.js';

describe('a file', () => {
  it.each([
    ['none.js', 'none.js cannot be read: there is no such file'],
    ['/', '/ cannot be read: it is no file'],
  ])('%s is refused in words', async (name, message) => {
    await expect(file(name)).rejects.toThrow(new Error(message));
  });
});

describe('the path of an output', () => {
  it.each(['a.txt', 'plots/motion.csv', '..a/b..', 'index.html'])('%j lies beneath the folder', (name) => {
    expect(pathWithin('/out', name)).toBe(`/out/${name}`);
  });

  it.each(['', '/etc/passwd', '../x', 'a/../../x', 'a//b', './a', 'a/', 'C:x', 'a\\b', 'a\0b'])(
    '%j is refused',
    (name) => {
      expect(() => pathWithin('/out', name)).toThrow(UnsafePathError);
    },
  );
});
