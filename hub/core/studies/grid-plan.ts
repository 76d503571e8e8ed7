/** Plan of all combinations of levels (full factorial plan). */

import type { ValidationError } from '../errors.js';
import { equalLevels, type Levels, levelCount, levelsFaults, levelValues } from './levels.js';
import { type PlannedPoints, tooManyPoints } from './planned-points.js';
import type { PointValue, StudyVariable } from './variables.js';

/** Grid; its levels may come in any order, the last of the variables changes fastest. */
export interface GridPlan {
  readonly kind: 'GRID';
  readonly levels: readonly Levels[];
}

/** Validation errors of a grid. */
export function* gridFaults(
  variables: readonly StudyVariable[],
  plan: GridPlan,
  maxPoints: number,
): Generator<ValidationError> {
  let areLevelsValid = true;
  for (const fault of formFaults(variables, plan)) {
    areLevelsValid = false;
    yield fault;
  }
  if (!areLevelsValid) return;
  const tooMany = tooManyPoints('plan.levels', product(plan.levels.map(levelCount)), maxPoints);
  if (tooMany !== undefined) {
    yield tooMany;
    return;
  }
  for (const variable of variables) {
    const index = plan.levels.findIndex((levels) => levels.variable === variable.name);
    yield* equalLevels(variable, plan.levels[index] as Levels, `plan.levels[${index}]`);
  }
}

/** Points of a grid without errors; only the levels are stored. */
export function gridPoints(variables: readonly StudyVariable[], plan: GridPlan): PlannedPoints {
  const axes = variables.map((variable) => {
    const levels = plan.levels.find((each) => each.variable === variable.name) as Levels;
    return levelValues(variable, levels);
  });
  return { count: product(axes.map(({ length }) => length)), at: (index) => gridPoint(axes, index) };
}

function* formFaults(variables: readonly StudyVariable[], { levels }: GridPlan): Generator<ValidationError> {
  const given = new Set(levels.map(({ variable }) => variable));
  for (const { name } of variables) {
    if (!given.has(name)) yield { where: 'plan.levels', what: `must have levels of ${name}` };
  }
  yield* levelsFaults(variables, levels);
}

function gridPoint(axes: readonly (readonly PointValue[])[], index: number): readonly PointValue[] {
  let rest = index;
  const backwards = axes.toReversed().map((axis) => {
    const value = axis[rest % axis.length] as PointValue;
    rest = Math.floor(rest / axis.length);
    return value;
  });
  return backwards.reverse();
}

/** Product of counts of at least 1; Infinity for one that is beyond exact integers. */
function product(counts: readonly number[]): number {
  const limit = Number.MAX_SAFE_INTEGER;
  return counts.reduce(
    (points, count) => (count > limit / points ? Number.POSITIVE_INFINITY : points * count),
    1,
  );
}
