import { expect, it } from 'vitest';
import { endedCount, failedCount, timeToGoMs } from './progress.js';

const POINTS = {
  total: 20,
  waiting: 8,
  open: 2,
  FINISHED: 5,
  SOLVER_FAILED: 2,
  RULE_FAILED: 1,
  INFRASTRUCTURE: 1,
  CANCELED: 1,
  REUSED: 0,
};
const STUDY = { state: 'RUNNING', createdAt: '2026-05-01T10:00:00Z', points: POINTS } as const;
const NOW_MS = Date.parse('2026-05-01T10:10:00Z');

it('counts points that have ended, and those that failed', () => {
  expect(endedCount(POINTS)).toBe(10);
  expect(failedCount(POINTS)).toBe(4);
});

it('expects the points that are left to end as fast as the others did', () => {
  expect(timeToGoMs(STUDY, NOW_MS)).toBe(600_000);
});

it.each([
  ['before the first end', { points: { ...POINTS, FINISHED: 0, SOLVER_FAILED: 0, RULE_FAILED: 0 } }],
  ['while it is paused', { state: 'PAUSED' }],
  ['when nothing is left', { points: { ...POINTS, waiting: 0, open: 0 } }],
  ['by a clock that is behind', { createdAt: '2026-05-01T10:30:00Z' }],
] as const)('says nothing %s', (title, changed) => {
  const none = { INFRASTRUCTURE: 0, CANCELED: 0 };
  const study = { ...STUDY, ...changed };
  const points = title === 'before the first end' ? { ...study.points, ...none } : study.points;
  expect(timeToGoMs({ ...study, points }, NOW_MS)).toBeUndefined();
});
