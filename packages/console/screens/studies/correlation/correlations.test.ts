import type { StudyPoint } from '@workbench-hub/client';
import { expect, it } from 'vitest';
import { columnsOf } from '../points.js';
import { type CorrelationKind, correlationsOf } from './correlations.js';

const NAMES = ['a', 'b', 'c', 'constant'];
const COLUMNS = columnsOf({
  variables: NAMES.map((name) => ({ name, kind: 'NUMBER', scale: 'LINEAR' })),
  values: [],
});

const POINTS = [
  [1, -1, 1],
  [2, -2, 8],
  [3, -3, 27],
  [4, -4, 64],
].map(
  ([a = 0, b = 0, c = 0], at): StudyPoint => ({
    number: at + 1,
    tries: 1,
    taskId: '',
    variables: { a, b, c, constant: 7 },
    values: {},
    outcome: 'FINISHED',
  }),
);

const valuesOf = (points: readonly StudyPoint[], kind: CorrelationKind) =>
  correlationsOf(points, COLUMNS, kind).map((row) =>
    row.map(({ value }) => (value === undefined ? undefined : Number(value.toFixed(4)))),
  );

it('is 1 for what rises together, -1 for what goes apart, and nothing for what does not vary', () => {
  const [, , cubes = 0] = valuesOf(POINTS, 'pearson')[0] ?? [];
  // Coefficient of the numbers: 104 / sqrt(5 · 2390).
  expect(cubes).toBe(0.9514);
  expect(valuesOf(POINTS, 'pearson')[0]).toEqual([1, -1, cubes, undefined]);
  expect(valuesOf(POINTS, 'spearman').map((row) => row.slice(0, 3))).toEqual([
    [1, -1, 1],
    [-1, 1, -1],
    [1, -1, 1],
    [undefined, undefined, undefined],
  ]);
});

it('gives equal numbers the mean of their ranks', () => {
  const points = POINTS.map((point) => ({
    ...point,
    variables: { ...point.variables, b: point.number > 2 ? 1 : 0 },
  }));
  // Coefficient of the ranks: 2 / sqrt(5 · 1).
  expect(valuesOf(points, 'spearman')[0]?.[1]).toBe(0.8944);
});

it('has only points that finished and have both numbers', () => {
  const extreme = { ...POINTS[0], variables: { a: 1000, b: 1000, c: 1000, constant: 7 } } as StudyPoint;
  const failed: StudyPoint = { ...extreme, outcome: 'RULE_FAILED' };
  const without: StudyPoint = { ...extreme, variables: { b: 1000, c: 1000, constant: 7 } };
  for (const kind of ['pearson', 'spearman'] as const) {
    const matrix = correlationsOf([...POINTS, failed, without], COLUMNS, kind);
    expect(matrix[0]?.[1]?.value).toBeCloseTo(-1);
    expect(matrix[0]?.[1]?.count).toBe(4);
    expect(matrix[1]?.[2]?.count).toBe(5);
  }
});

it('says nothing of fewer than three points', () => {
  expect(correlationsOf(POINTS.slice(2), COLUMNS, 'pearson')[0]?.[1]).toEqual({ value: undefined, count: 2 });
});
