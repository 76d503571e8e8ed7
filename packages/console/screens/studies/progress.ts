/** Progress of a study by the numbers of its points. */
import type { StudyDetails, StudyItem, StudyPoint } from '@workbench-hub/client';

export type Outcome = NonNullable<StudyPoint['outcome']>;
type Counts = StudyItem['points'];

export const FAILURES = ['SOLVER_FAILED', 'RULE_FAILED', 'INFRASTRUCTURE'] as const satisfies Outcome[];
export const OUTCOMES = ['FINISHED', 'REUSED', ...FAILURES, 'CANCELED'] as const satisfies Outcome[];

/** Number of points with an outcome. */
export function endedCount(points: Counts): number {
  return OUTCOMES.reduce((sum, outcome) => sum + points[outcome], 0);
}

/** Number of points that failed, by whatever outcome. */
export function failedCount(points: Counts): number {
  return FAILURES.reduce((sum, outcome) => sum + points[outcome], 0);
}

type Timed = Pick<StudyDetails, 'state' | 'createdAt' | 'points'>;

/** Time in milliseconds until the last point ends, if they go on ending as they have so far; undefined when that cannot be said. */
export function timeToGoMs({ state, createdAt, points }: Timed, nowMs: number): number | undefined {
  const ended = endedCount(points);
  const left = points.waiting + points.open;
  const passedMs = nowMs - Date.parse(createdAt);
  if (state !== 'RUNNING' || ended === 0 || left === 0 || passedMs <= 0) return undefined;
  return (left * passedMs) / ended;
}
