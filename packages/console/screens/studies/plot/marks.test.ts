import type { StudyPoint } from '@workbench-hub/client';
import { expect, it } from 'vitest';
import { columnsOf } from '../points.js';
import { marksOf } from './marks.js';

const [speed, stress] = columnsOf({
  variables: [{ name: 'speed', kind: 'NUMBER', scale: 'LINEAR' }],
  values: [{ name: 'stress', kind: 'NUMBER' }],
});
if (speed === undefined || stress === undefined) throw new Error('a column is missing');
const AXES = { x: speed, y: stress, isXLogarithmic: false, isYLogarithmic: false };

function pointOf(x: number, y: number | string | undefined, outcome?: StudyPoint['outcome']): StudyPoint {
  return {
    number: x,
    tries: 1,
    taskId: '',
    variables: { speed: x },
    values: y === undefined ? {} : { stress: y },
    outcome,
  };
}

const POINTS = [
  pointOf(4, -1, 'FINISHED'),
  pointOf(3, undefined, 'FINISHED'),
  pointOf(2, undefined, 'SOLVER_FAILED'),
  pointOf(1, 5, 'RULE_FAILED'),
  pointOf(5, undefined),
  pointOf(6, 'NaN', 'RULE_FAILED'),
];

it('has failed points without a value at the edge, and says how many have no place', () => {
  expect(marksOf(POINTS, AXES)).toMatchObject({
    marks: [
      { x: 1, y: 5, hasFailed: true },
      { x: 2, y: undefined, hasFailed: true },
      { x: 4, y: -1, hasFailed: false },
      { x: 6, y: undefined, hasFailed: true },
    ],
    edgeCount: 2,
    leftOut: 1,
  });
});

it('leaves out what has no place on a logarithmic axis', () => {
  const { marks, leftOut } = marksOf(POINTS, { ...AXES, isYLogarithmic: true });
  expect(marks.map(({ x }) => x)).toEqual([1, 2, 6]);
  expect(leftOut).toBe(2);
});
