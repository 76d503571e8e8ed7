import { expect, it } from 'vitest';
import { fileNameOf } from './save.js';

it.each([
  ['plots/motion.csv', 'motion.csv'],
  ['../../x', 'x'],
  ['C:\\Windows\\x.dll', 'x.dll'],
  ['index.html', 'index.html'],
  ['folder/', 'file'],
  ['..', 'file'],
])('saves %s as %s', (path, name) => {
  expect(fileNameOf(path)).toBe(name);
});
