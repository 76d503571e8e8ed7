/** Plans whose points a sequence spreads over the bounds of the variables. */

import type { ValidationError } from '../errors.js';
import { latinHypercube } from './latin-hypercube.js';
import { type PlannedPoints, tooManyPoints } from './planned-points.js';
import { MAX_SOBOL_DIMENSIONS, MAX_SOBOL_POINTS, sobolSequence } from './sobol.js';
import type { UnitCoordinate } from './unit-coordinate.js';
import type { StudyVariable } from './variables.js';

export interface LatinHypercubePlan {
  readonly kind: 'LATIN_HYPERCUBE';
  readonly count: number;
  readonly seed: number;
}

/** Plan of a Sobol sequence, which is not scrambled for a seed of null. */
export interface SobolPlan {
  readonly kind: 'SOBOL';
  readonly count: number;
  readonly seed: number | null;
}

/** Values of a Latin hypercube, all of which are in memory while its points begin. */
const MAX_STORED_VALUES = 2_000_000;

export type SampledPlan = LatinHypercubePlan | SobolPlan;

/** Validation errors of a plan with a sequence. */
export function* sampledFaults(
  variables: readonly StudyVariable[],
  plan: SampledPlan,
  maxPoints: number,
): Generator<ValidationError> {
  const { kind, seed } = plan;
  yield* countFaults(variables, plan, maxPoints);
  if (!(kind === 'SOBOL' && seed === null) && !isSeed(seed)) {
    yield { where: 'plan.seed', what: `must be a whole number from 0 to ${Number.MAX_SAFE_INTEGER}` };
  }
  if (kind === 'SOBOL' && variables.length > MAX_SOBOL_DIMENSIONS) {
    const what = `must be at most ${MAX_SOBOL_DIMENSIONS} in a plan of kind SOBOL; there are ${variables.length}`;
    yield { where: 'variables', what };
  }
  for (const [index, variable] of variables.entries()) {
    yield* rangeFaults(variable, `variables[${index}]`, kind);
  }
}

function* countFaults(
  variables: readonly StudyVariable[],
  { kind, count }: SampledPlan,
  maxPoints: number,
): Generator<ValidationError> {
  const where = 'plan.count';
  if (!Number.isSafeInteger(count) || count < 1) {
    yield { where, what: 'must be a whole number of at least 1' };
    return;
  }
  const tooMany = tooManyPoints(where, count, maxPoints);
  const isSobol = kind === 'SOBOL';
  const most = isSobol ? MAX_SOBOL_POINTS : Math.floor(MAX_STORED_VALUES / variables.length);
  if (tooMany !== undefined) yield tooMany;
  else if (count > most) {
    const which = isSobol ? '' : ` with ${variables.length} variables`;
    yield { where, what: `must be at most ${most} in a plan of kind ${kind}${which}` };
  }
}

/** Points of a plan without errors: those of a Latin hypercube are stored, those of a Sobol sequence computed. */
export function sampledPoints(variables: readonly StudyVariable[], plan: SampledPlan): PlannedPoints {
  // Not before a point is wanted: a plan is checked more often than it is used.
  let coordinate: UnitCoordinate | undefined;
  const scales = variables.map(scaleOf);
  return {
    count: plan.count,
    at: (index) => {
      const sequence = coordinate ?? sequenceOf(plan, variables.length);
      coordinate = sequence;
      return scales.map((scale, dimension) => scale(sequence(index, dimension)));
    },
  };
}

function sequenceOf(plan: SampledPlan, dimensions: number): UnitCoordinate {
  return plan.kind === 'SOBOL'
    ? sobolSequence(dimensions, plan.seed)
    : latinHypercube(plan.count, dimensions, plan.seed);
}

function* rangeFaults(
  variable: StudyVariable,
  where: string,
  planKind: SampledPlan['kind'],
): Generator<ValidationError> {
  if (variable.kind === 'TEXT') {
    yield { where: `${where}.kind`, what: `must be NUMBER or INTEGER in a plan of kind ${planKind}` };
    return;
  }
  for (const bound of ['lower', 'upper'] as const) {
    if (variable[bound] === null) {
      yield { where: `${where}.${bound}`, what: `must be given in a plan of kind ${planKind}` };
    }
  }
}

function isSeed(seed: number | null): boolean {
  return seed !== null && Number.isSafeInteger(seed) && seed >= 0;
}

/**
 * Value of a variable at a coordinate from 0 to 1. A NUMBER is scaled like by `scipy.stats.qmc.scale`, the logarithms of
 * the bounds on a logarithmic scale. An INTEGER is the integer below such a value with an upper bound that is greater by
 * one, so that all integers have equal shares on a linear scale. Rounding never leads beyond the bounds.
 */
function scaleOf(variable: StudyVariable): (coordinate: number) => number {
  const lower = variable.lower as number;
  const upper = variable.upper as number;
  const end = variable.kind === 'INTEGER' ? upper + 1 : upper;
  const isLogarithmic = variable.scale === 'LOGARITHMIC';
  const first = isLogarithmic ? Math.log(lower) : lower;
  const span = (isLogarithmic ? Math.log(end) : end) - first;
  return (coordinate) => {
    const scaled = coordinate * span + first;
    const value = isLogarithmic ? Math.exp(scaled) : scaled;
    return Math.min(upper, Math.max(lower, variable.kind === 'INTEGER' ? Math.floor(value) : value));
  };
}
