import { describe, expect, it } from 'vitest';
import { file, pathsWithin, pathWithin, UnsafePathError } from './node.js';

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

  it.each(['run:1.csv', 'nul', 'a/COM1.txt', 'con .log', 'a?', 'a|b', 'a.', 'b /c', 'conin$', 'a\nb'])(
    '%j is refused on Windows only',
    (name) => {
      expect(() => pathWithin('out', name, 'win32')).toThrow(UnsafePathError);
      for (const platform of ['linux', 'darwin'] as const)
        expect(pathWithin('/out', name, platform)).toBe(`/out/${name}`);
    },
  );

  it.each(['a.txt', '.hidden', 'null.csv', 'com10', 'console.log', 'a/b c.csv'])(
    '%j is taken on Windows',
    (name) => {
      expect(pathWithin('out', name, 'win32')).toMatch(/^out/);
    },
  );
});

describe('the paths of outputs', () => {
  const ALIKE = ['plots/Run.csv', 'plots/run.csv'];

  it.each(['win32', 'darwin'] as const)('are refused on %s when they differ in case only', (platform) => {
    const refused = () => pathsWithin('out', ALIKE, platform);
    expect(refused).toThrow(UnsafePathError);
    expect(refused).toThrow(
      'the outputs "plots/Run.csv" and "plots/run.csv" cannot be saved: they would be one file here',
    );
    expect(() => pathsWithin('out', ['\u00e4', 'a\u0308'], platform)).toThrow(UnsafePathError);
  });

  it('may differ in case on Linux', () => {
    expect(pathsWithin('/out', ALIKE, 'linux')).toEqual(ALIKE.map((name) => `/out/${name}`));
  });
});
