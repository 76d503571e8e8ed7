import type { StudyPoint } from '@workbench-hub/client';
import { expect, it } from 'vitest';
import { bestOf, columnsOf, failureGroups, filtered, sorted } from './points.js';

const COLUMNS = columnsOf({
  variables: [
    { name: 'speed', kind: 'NUMBER', scale: 'LINEAR' },
    { name: 'oil', kind: 'TEXT', scale: 'LINEAR' },
  ],
  values: [{ name: 'speed', kind: 'NUMBER', unit: 'm/s' }],
});

function pointOf(
  number: number,
  given: number | string | undefined,
  more: Partial<StudyPoint> = {},
): StudyPoint {
  return {
    number,
    tries: 1,
    taskId: `task-${number}`,
    variables: { speed: 10 - number, oil: `VG ${number}` },
    values: given === undefined ? {} : { speed: given },
    outcome: 'FINISHED',
    ...more,
  };
}

const POINTS = [
  pointOf(1, 12),
  pointOf(2, undefined, { outcome: undefined }),
  pointOf(3, 9),
  pointOf(4, 'NaN', { outcome: 'RULE_FAILED', message: 'speed is not a number' }),
  pointOf(5, 'Infinity', { outcome: 'RULE_FAILED', message: 'speed is too high\nby far' }),
  pointOf(6, -3),
];

const numbers = (points: readonly StudyPoint[]) => points.map(({ number }) => number);

it('tells a variable from a value of the same name', () => {
  expect(COLUMNS.map(({ key }) => key)).toEqual(['variables.speed', 'variables.oil', 'values.speed']);
});

it.each([
  ['values.speed', false, [6, 3, 1, 5, 4, 2]],
  ['values.speed', true, [5, 1, 3, 6, 4, 2]],
  ['variables.speed', false, [6, 5, 4, 3, 2, 1]],
  ['variables.oil', true, [6, 5, 4, 3, 2, 1]],
  ['number', true, [6, 5, 4, 3, 2, 1]],
  ['outcome', false, [1, 3, 6, 4, 5, 2]],
  ['message', false, [4, 5, 1, 2, 3, 6]],
  ['values.unheard', false, [1, 2, 3, 4, 5, 6]],
])('sorts by %s, descending: %s', (key, isDescending, expected) => {
  expect(numbers(sorted(POINTS, COLUMNS, { key, isDescending }))).toEqual(expected);
});

it('filters by outcome, and by the reason of a failure', () => {
  expect(numbers(filtered(POINTS, { states: ['OPEN', 'RULE_FAILED'], failure: undefined }))).toEqual([
    2, 4, 5,
  ]);
  const failure = { outcome: 'RULE_FAILED', cause: undefined, reason: 'speed is too high' } as const;
  expect(numbers(filtered(POINTS, { states: [], failure }))).toEqual([5]);
});

it('groups failures by outcome, cause and the first line of the message', () => {
  const crash = { outcome: 'INFRASTRUCTURE', cause: 'CRASH', message: 'it died' } as const;
  const loss = { ...crash, cause: 'LOSS' } as const;
  const points = [
    ...POINTS,
    pointOf(7, undefined, crash),
    pointOf(8, undefined, loss),
    pointOf(9, undefined, crash),
  ];
  const groups = failureGroups(points).map(({ cause, reason, count }) => [cause, reason, count]);
  expect(groups).toEqual([
    ['CRASH', 'it died', 2],
    [undefined, 'speed is not a number', 1],
    [undefined, 'speed is too high', 1],
    ['LOSS', 'it died', 1],
  ]);
});

it('puts points together whose value misses the same bound', () => {
  const points = ['1600.5', '-2e+21', '7'].map((value, at) =>
    pointOf(at + 1, 1, { outcome: 'RULE_FAILED', message: `stress is ${value}, more than 1500` }),
  );
  expect(failureGroups(points)).toMatchObject([{ reason: 'stress is …, more than 1500', count: 3 }]);
});

it('finds the best finished point', () => {
  const [, , speed] = COLUMNS;
  if (speed === undefined) throw new Error('the column is missing');
  expect(bestOf(POINTS, speed, false)).toMatchObject({ value: -3, point: { number: 6 } });
  expect(bestOf(POINTS, speed, true)).toMatchObject({ value: 12, point: { number: 1 } });
  expect(bestOf([], speed, true)).toBeUndefined();
});
