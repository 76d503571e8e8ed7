import type { StudyPoint } from '@workbench-hub/client';
import { expect, it } from 'vitest';
import { areCounted, loadPoints, type PointQuery } from './load-points.js';

function pointOf(number: number, outcome?: StudyPoint['outcome']): StudyPoint {
  return { number, tries: 1, taskId: `task-${number}`, variables: {}, values: {}, outcome };
}

/** A hub with these points, which notes what it is asked. */
function hubOf(points: readonly StudyPoint[], longest = 10_000) {
  const queries: PointQuery[] = [];
  const fetchPoints = async (query: PointQuery) => {
    queries.push(query);
    const { after = 0, limit = 100, outcome } = query;
    const found = points.filter((point) => point.number > after && (!outcome || point.outcome === undefined));
    const page = found.slice(0, Math.min(limit, longest));
    return { points: page, ...(page.length < found.length ? { next: page.at(-1)?.number } : {}) };
  };
  return { fetchPoints, queries };
}

it('loads all points in pages at first', async () => {
  const points = Array.from({ length: 7 }, (_, at) => pointOf(at + 1, 'FINISHED'));
  const { fetchPoints, queries } = hubOf(points, 3);
  const some: number[] = [];
  expect(await loadPoints([], fetchPoints, ({ length }) => some.push(length))).toEqual(points);
  expect(queries).toEqual([
    { after: 0, limit: 500 },
    { after: 3, limit: 10_000 },
    { after: 6, limit: 10_000 },
  ]);
  expect(some).toEqual([3, 6]);
});

it('gives the same points when nothing has changed', async () => {
  const known = [pointOf(1, 'FINISHED'), pointOf(2)];
  expect(await loadPoints(known, hubOf(known).fetchPoints)).toBe(known);
});

it('asks afterwards for what has changed', async () => {
  const known = [pointOf(1, 'FINISHED'), pointOf(2), pointOf(3), pointOf(90), pointOf(91, 'SOLVER_FAILED')];
  const now = [
    pointOf(1, 'FINISHED'),
    pointOf(2, 'RULE_FAILED'),
    pointOf(3, 'FINISHED'),
    pointOf(90, 'FINISHED'),
    { ...pointOf(91), tries: 2 },
    pointOf(92),
  ];
  const { fetchPoints, queries } = hubOf(now);
  expect(await loadPoints(known, fetchPoints)).toEqual(now);
  expect(queries).toEqual([
    { outcome: ['OPEN'], after: 0, limit: 500 },
    { after: 1, limit: 2 },
    { after: 89, limit: 1 },
    { after: 91, limit: 500 },
  ]);
});

it('sees by the counts of the study that a point has changed unseen', () => {
  const none = { SOLVER_FAILED: 0, RULE_FAILED: 0, INFRASTRUCTURE: 0, CANCELED: 0, REUSED: 0 };
  const counts = { total: 2, waiting: 0, open: 0, FINISHED: 2, ...none };
  expect(areCounted([pointOf(1, 'FINISHED'), pointOf(2, 'FINISHED')], counts)).toBe(true);
  expect(areCounted([pointOf(1, 'FINISHED'), pointOf(2, 'CANCELED')], counts)).toBe(false);
  const withDue = { ...counts, total: 3, waiting: 1 };
  expect(areCounted([pointOf(1, 'FINISHED'), pointOf(2, 'FINISHED'), pointOf(3)], withDue)).toBe(true);
});
