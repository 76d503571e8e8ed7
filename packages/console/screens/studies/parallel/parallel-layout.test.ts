import type { StudyPoint } from '@workbench-hub/client';
import { expect, it } from 'vitest';
import { columnsOf } from '../points.js';
import { parallelLayoutOf } from './parallel-layout.js';

const COLUMNS = columnsOf({
  variables: [{ name: 'speed', kind: 'NUMBER', scale: 'LINEAR' }],
  values: [{ name: 'stress', kind: 'NUMBER' }],
});

function pointOf(speed: number, stress: number | undefined, outcome?: StudyPoint['outcome']): StudyPoint {
  const values: Record<string, number> = stress === undefined ? {} : { stress };
  return { number: speed, tries: 1, taskId: '', variables: { speed }, values, outcome };
}

const BOX = { width: 500, height: 400, maxLines: 1000 };

const POINTS = [
  pointOf(1, 10, 'FINISHED'),
  pointOf(2, 5000, 'FINISHED'),
  pointOf(3, undefined, 'FINISHED'),
  pointOf(4, undefined, 'SOLVER_FAILED'),
  pointOf(5, 9),
];

it('has a line for each point that has ended, higher for larger numbers', () => {
  const { finished, failed, axes, top, bottom } = parallelLayoutOf(POINTS, COLUMNS, BOX);
  const [speed1 = 0, stress1 = 0, speed2 = 0, stress2 = 0, , stress3] = finished;
  expect(finished).toHaveLength(6);
  expect(speed1).toBeGreaterThan(speed2);
  expect(stress1).toBeGreaterThan(stress2);
  expect(stress3).toBeNaN();
  expect(failed).toHaveLength(2);
  expect(failed[0]).toBeLessThan(speed2);
  expect(failed[1]).toBeGreaterThan(bottom);
  for (const height of [speed1, stress1, speed2, stress2]) {
    expect(height).toBeGreaterThan(top);
    expect(height).toBeLessThan(bottom);
  }
  expect(axes.map(({ x }) => x)).toEqual([44, 456]);
});

it('has a logarithmic axis where numbers span many decades', () => {
  const { axes } = parallelLayoutOf(POINTS, COLUMNS, BOX);
  expect(axes[1]?.ticks.map(([, value]) => value)).toEqual([10, 100, 1000]);
});

it('draws some of very many lines, and counts all', () => {
  const points = Array.from({ length: 25 }, (_, at) => pointOf(at, at, 'FINISHED'));
  const { finished, finishedCount } = parallelLayoutOf(points, COLUMNS, { ...BOX, maxLines: 10 });
  expect(finished).toHaveLength(2 * 9);
  expect(finishedCount).toBe(25);
});
