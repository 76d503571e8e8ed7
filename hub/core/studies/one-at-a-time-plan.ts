/** Plan that changes one variable at a time. */

import type { ValidationError } from '../errors.js';
import { equalLevels, type Levels, levelCount, levelsFaults, levelValues } from './levels.js';
import { type PlannedPoints, tooManyPoints } from './planned-points.js';
import { inOrder, type PointValues, pointFaults } from './point-values.js';
import type { PointValue, StudyVariable } from './variables.js';

/**
 * Base point, and after it each level that differs from the base, in the order of the variables. Variables without
 * levels keep the value of the base.
 */
export interface OneAtATimePlan {
  readonly kind: 'ONE_AT_A_TIME';
  readonly base: PointValues;
  readonly levels: readonly Levels[];
}

/** Difference of a point from the base: the value of one variable. */
interface Change {
  readonly position: number;
  readonly value: PointValue;
}

/** Validation errors of a plan that changes one variable at a time. */
export function* oneAtATimeFaults(
  variables: readonly StudyVariable[],
  plan: OneAtATimePlan,
  maxPoints: number,
): Generator<ValidationError> {
  let areLevelsValid = true;
  for (const fault of levelsFaults(variables, plan.levels)) {
    areLevelsValid = false;
    yield fault;
  }
  yield* pointFaults(variables, plan.base, 'plan.base');
  if (!areLevelsValid) return;
  // The base is at most one level of each variable: levels are not computed where there are too many without it.
  const leastCount = plan.levels.reduce((points, levels) => points + levelCount(levels) - 1, 1);
  const tooMany =
    tooManyPoints('plan.levels', leastCount, maxPoints, false) ??
    tooManyPoints('plan.levels', changesOf(variables, plan).length + 1, maxPoints);
  if (tooMany !== undefined) {
    yield tooMany;
    return;
  }
  for (const [index, levels] of plan.levels.entries()) {
    const variable = variables.find(({ name }) => name === levels.variable) as StudyVariable;
    yield* equalLevels(variable, levels, `plan.levels[${index}]`);
  }
}

/** Points of a plan without errors; the base and the changes are stored. */
export function oneAtATimePoints(variables: readonly StudyVariable[], plan: OneAtATimePlan): PlannedPoints {
  const base = inOrder(variables, plan.base);
  const changes = changesOf(variables, plan);
  return {
    count: changes.length + 1,
    at(index) {
      const change = changes[index - 1];
      return change === undefined ? base : base.with(change.position, change.value);
    },
  };
}

function changesOf(variables: readonly StudyVariable[], plan: OneAtATimePlan): Change[] {
  return variables.flatMap((variable, position) => {
    const levels = plan.levels.find((each) => each.variable === variable.name);
    if (levels === undefined) return [];
    return levelValues(variable, levels)
      .filter((value) => value !== plan.base[variable.name])
      .map((value) => ({ position, value }));
  });
}
