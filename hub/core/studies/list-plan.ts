/** Plan that lists its points one by one. */

import type { ValidationError } from '../errors.js';
import { type PlannedPoints, tooManyPoints } from './planned-points.js';
import { inOrder, type PointValues, pointFaults } from './point-values.js';
import type { StudyVariable } from './variables.js';

export interface ListPlan {
  readonly kind: 'LIST';
  readonly points: readonly PointValues[];
}

/** Validation errors of a list of points; equal points are allowed. */
export function* listFaults(
  variables: readonly StudyVariable[],
  plan: ListPlan,
  maxPoints: number,
): Generator<ValidationError> {
  if (plan.points.length === 0) yield { where: 'plan.points', what: 'must have at least one point' };
  const tooMany = tooManyPoints('plan.points', plan.points.length, maxPoints);
  if (tooMany !== undefined) {
    yield tooMany;
    return;
  }
  for (const [index, values] of plan.points.entries()) {
    yield* pointFaults(variables, values, `plan.points[${index}]`);
  }
}

/** Points of a list without errors. */
export function listPoints(variables: readonly StudyVariable[], { points }: ListPlan): PlannedPoints {
  return { count: points.length, at: (index) => inOrder(variables, points[index] as PointValues) };
}
