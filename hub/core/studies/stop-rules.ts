/** Rules by which a study stops by itself. */
import { conditionFault } from './conditions.js';
import type { PointEnd, PointOutcome, StudyDefinition } from './study.js';

/** A point that has ended. */
type Ended = Pick<PointEnd, 'outcome' | 'values'> & { readonly number: number };

/** Outcomes that count as failures, whatever their cause. */
export const FAILURES = [
  'SOLVER_FAILED',
  'RULE_FAILED',
  'INFRASTRUCTURE',
] as const satisfies readonly PointOutcome[];

/** Message of a study that stops after this number of failed points; undefined while it goes on. */
export function stopAfterFailures(
  { stopAfterFailures: most }: Pick<StudyDefinition, 'stopAfterFailures'>,
  failedCount: number,
): string | undefined {
  if (most === null || failedCount < most) return undefined;
  return `stopped by itself: ${failedCount} points failed (stopAfterFailures: ${most})`;
}

/** Time for which a study runs until it stops; infinite without such a rule. */
export function stopAfterMs({ stopAfterS }: Pick<StudyDefinition, 'stopAfterS'>): number {
  return stopAfterS === null ? Number.POSITIVE_INFINITY : 1000 * stopAfterS;
}

/** Message of a study that stops after its time. */
export function stopAfterTime({ stopAfterS }: Pick<StudyDefinition, 'stopAfterS'>): string {
  return `stopped by itself after ${stopAfterS} s (stopAfter)`;
}

/** Message of a study that stops at one of these points, whose values meet all conditions; undefined while it goes on. */
export function stopWhenReached(
  { values: rules, stopWhen }: Pick<StudyDefinition, 'values' | 'stopWhen'>,
  points: readonly Ended[],
): string | undefined {
  if (stopWhen.length === 0) return undefined;
  const reached = points.find(({ outcome, values }) => {
    const hasResult = outcome === 'FINISHED' || outcome === 'REUSED';
    return hasResult && stopWhen.every((each) => conditionFault(each, rules, values) === undefined);
  });
  return reached && `stopped by itself: point ${reached.number} has reached the values of stopWhen`;
}
