import type { StudyPoint } from '@workbench-hub/client';
import { expect, it } from 'vitest';
import { columnsOf } from '../points.js';
import { compared } from './differences.js';

const COLUMNS = columnsOf({
  variables: [
    { name: 'speed', kind: 'NUMBER', scale: 'LINEAR' },
    { name: 'load', kind: 'NUMBER', scale: 'LINEAR' },
  ],
  values: [{ name: 'stress', kind: 'NUMBER' }],
});

const FIRST: StudyPoint = {
  number: 1,
  tries: 1,
  taskId: 'a',
  variables: { speed: 500, load: 2 },
  values: { stress: 'NaN' },
  outcome: 'FINISHED',
  startedAt: '2026-05-01T10:00:00+02:00',
  endedAt: '2026-05-01T10:00:05+02:00',
};

it('has only what differs, in the order of the table', () => {
  const failed: StudyPoint = {
    ...FIRST,
    number: 2,
    variables: { speed: 700, load: 2 },
    values: {},
    outcome: 'SOLVER_FAILED',
    message: 'diverged',
    endedAt: '2026-05-01T10:00:07+02:00',
  };
  const { differences, same } = compared([FIRST, failed], COLUMNS);
  expect(differences.map(({ key, fields }) => [key, ...fields])).toEqual([
    ['variables.speed', 500, 700],
    ['values.stress', Number.NaN, undefined],
    ['outcome', 'FINISHED', 'SOLVER_FAILED'],
    ['message', undefined, 'diverged'],
    ['runTime', 5000, 7000],
  ]);
  expect(same).toEqual(['load']);
});

it('has no differences between equal points, also where both are NaN', () => {
  expect(compared([FIRST, { ...FIRST, number: 9 }], COLUMNS)).toEqual({
    differences: [],
    same: ['speed', 'load', 'stress'],
  });
});
