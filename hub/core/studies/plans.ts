/** Plans of a study: they turn variables into numbered points. */

import type { ValidationError } from '../errors.js';
import { type GridPlan, gridFaults, gridPoints } from './grid-plan.js';
import { type ListPlan, listFaults, listPoints } from './list-plan.js';
import { type OneAtATimePlan, oneAtATimeFaults, oneAtATimePoints } from './one-at-a-time-plan.js';
import type { PlannedPoints } from './planned-points.js';
import { type SampledPlan, sampledFaults, sampledPoints } from './sampled-plan.js';
import type { StudyVariable } from './variables.js';

/** Plan without points at first: they are added later. */
interface OpenPlan {
  readonly kind: 'OPEN';
}

export type StudyPlan = ListPlan | GridPlan | OneAtATimePlan | SampledPlan | OpenPlan;

/** Validation errors that are listed; further ones are not looked for. */
const MAX_ERRORS = 20;

/**
 * Points of a plan for variables without faults, or the first validation errors, with places such as
 * `plan.levels[0].values[2]`. `maxPoints` is the setting `studies.maxPoints`.
 */
export function planned(
  variables: readonly StudyVariable[],
  plan: StudyPlan,
  maxPoints: number,
): { readonly points: PlannedPoints } | { readonly errors: readonly ValidationError[] } {
  const errors: ValidationError[] = [];
  for (const error of planFaults(variables, plan, maxPoints)) {
    errors.push(error);
    if (errors.length === MAX_ERRORS) break;
  }
  return errors.length > 0 ? { errors } : { points: withCheckedIndex(pointsOf(variables, plan)) };
}

function planFaults(
  variables: readonly StudyVariable[],
  plan: StudyPlan,
  maxPoints: number,
): Iterable<ValidationError> {
  if (variables.length === 0) return [{ where: 'variables', what: 'must have at least one variable' }];
  switch (plan.kind) {
    case 'LIST':
      return listFaults(variables, plan, maxPoints);
    case 'GRID':
      return gridFaults(variables, plan, maxPoints);
    case 'ONE_AT_A_TIME':
      return oneAtATimeFaults(variables, plan, maxPoints);
    case 'LATIN_HYPERCUBE':
    case 'SOBOL':
      return sampledFaults(variables, plan, maxPoints);
    case 'OPEN':
      return [];
  }
}

function pointsOf(variables: readonly StudyVariable[], plan: StudyPlan): PlannedPoints {
  switch (plan.kind) {
    case 'LIST':
      return listPoints(variables, plan);
    case 'GRID':
      return gridPoints(variables, plan);
    case 'ONE_AT_A_TIME':
      return oneAtATimePoints(variables, plan);
    case 'LATIN_HYPERCUBE':
    case 'SOBOL':
      return sampledPoints(variables, plan);
    case 'OPEN':
      return { count: 0, at: () => [] };
  }
}

/** Points that throw a RangeError for an index that none has. */
function withCheckedIndex({ count, at }: PlannedPoints): PlannedPoints {
  return {
    count,
    at(index) {
      if (!Number.isInteger(index) || index < 0 || index >= count) {
        throw new RangeError(`There is no point of index ${index}: the plan has ${count}.`);
      }
      return at(index);
    },
  };
}
