import type { StudyPoint } from '@workbench-hub/client';
import { expect, it } from 'vitest';
import { layoutOf, nearest } from './layout.js';

const point = {} as StudyPoint;
const BOX = { width: 400, height: 300, isXLogarithmic: false, isYLogarithmic: false };
const MARKS = [
  { point, x: 1, y: 10, hasFailed: false },
  { point, x: 2, y: undefined, hasFailed: true },
  { point, x: 3, y: 20, hasFailed: false },
];

it('places larger numbers to the right and higher, and points without a value beneath all', () => {
  const { placed, left, right, top, bottom } = layoutOf(MARKS, BOX);
  const [first, failed, last] = placed;
  if (!first || !failed || !last) throw new Error('a mark is missing');
  expect(first.x).toBeLessThan(last.x);
  expect(first.y).toBeGreaterThan(last.y);
  expect(failed.y).toBeGreaterThan(first.y);
  for (const { x, y } of placed) {
    expect(x).toBeGreaterThan(left);
    expect(x).toBeLessThan(right);
    expect(y).toBeGreaterThan(top);
    expect(y).toBeLessThan(bottom);
  }
});

it('finds the nearest mark within a distance', () => {
  const { placed } = layoutOf(MARKS, BOX);
  const { x = 0, y = 0 } = placed[2] ?? {};
  expect(nearest(placed, x + 3, y - 3, 20)).toBe(2);
  expect(nearest(placed, x + 30, y, 20)).toBeUndefined();
});
