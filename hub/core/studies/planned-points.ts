/** Points of a plan. */

import type { ValidationError } from '../errors.js';
import type { PointValue } from './variables.js';

/** Points in the order of their numbers, from index 0; each has the values in the order of the variables. */
export interface PlannedPoints {
  readonly count: number;
  at(index: number): readonly PointValue[];
}

/**
 * Validation error of a plan with too many points; undefined for none. A count of Infinity is beyond exact integers; one
 * that is not exact is a lower limit.
 */
export function tooManyPoints(
  where: string,
  count: number,
  maxPoints: number,
  isExact = true,
): ValidationError | undefined {
  if (count <= maxPoints) return undefined;
  const atLeast = isExact ? `${count}` : `at least ${count}`;
  const points = Number.isFinite(count) ? atLeast : `more than ${Number.MAX_SAFE_INTEGER}`;
  return { where, what: `gives ${points} points, at most ${maxPoints} are allowed (studies.maxPoints)` };
}
