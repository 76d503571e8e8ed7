/** Levels: the values that a plan gives one variable. */

import type { ValidationError } from '../errors.js';
import { unknownVariable } from './point-values.js';
import { type PointValue, type StudyVariable, valueFault } from './variables.js';

interface ListedLevels {
  readonly variable: string;
  readonly values: readonly PointValue[];
}

/** Levels `from`, `from + step`, … up to `to`, which is the last if it is a level; down for a negative step. */
interface SteppedLevels {
  readonly variable: string;
  readonly from: number;
  readonly to: number;
  readonly step: number;
}

/**
 * Levels from `from` up to `to` at equal distances on the scale of the variable; only `from` for a count of 1. Those of
 * an INTEGER are rounded.
 */
interface SpacedLevels {
  readonly variable: string;
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

export type Levels = ListedLevels | SteppedLevels | SpacedLevels;

/** Distance from `to`, relative to the number of steps, below which a level is `to`. */
const STEP_TOLERANCE = 1e-9;

/** Significant digits of levels on a logarithmic scale: the errors of logarithm and exponential are below. */
const LOGARITHMIC_DIGITS = 12;

/** Validation errors of levels that show without computing them; equal levels are left to `equalLevels`. */
export function* levelsFaults(
  variables: readonly StudyVariable[],
  levels: readonly Levels[],
): Generator<ValidationError> {
  const seen = new Set<string>();
  for (const [index, each] of levels.entries()) {
    const where = `plan.levels[${index}]`;
    const variable = variables.find(({ name }) => name === each.variable);
    if (variable === undefined) {
      yield { where: `${where}.variable`, what: unknownVariable(each.variable, variables) };
    } else if (seen.has(variable.name)) {
      yield { where: `${where}.variable`, what: 'is given more than once' };
    } else {
      yield* formFaults(variable, each, where);
    }
    seen.add(each.variable);
  }
}

/** Number of levels without errors, Infinity for one that is beyond exact integers. */
export function levelCount(levels: Levels): number {
  const count = exactCount(levels);
  return count <= Number.MAX_SAFE_INTEGER ? count : Number.POSITIVE_INFINITY;
}

/** Levels of a variable without errors, in order. */
export function levelValues(variable: StudyVariable, levels: Levels): readonly PointValue[] {
  if ('values' in levels) return levels.values;
  const valueAt = 'step' in levels ? steppedLevel(levels) : spacedLevel(variable, levels);
  return Array.from({ length: levelCount(levels) }, (_, index) => valueAt(index));
}

/** Validation errors of levels that are equal; `where` is such as `plan.levels[2]`. */
export function* equalLevels(
  variable: StudyVariable,
  levels: Levels,
  where: string,
): Generator<ValidationError> {
  const values = levelValues(variable, levels);
  const seen = new Set<PointValue>();
  for (const [index, value] of values.entries()) {
    if (!seen.has(value)) {
      seen.add(value);
    } else if ('values' in levels) {
      yield { where: `${where}.values[${index}]`, what: 'is given more than once' };
    } else {
      yield 'step' in levels
        ? { where: `${where}.step`, what: `must be larger: ${value} is a level twice` }
        : { where: `${where}.count`, what: `must be smaller: ${value} is a level twice` };
      return;
    }
  }
}

function* formFaults(variable: StudyVariable, levels: Levels, where: string): Generator<ValidationError> {
  if ('values' in levels) {
    if (levels.values.length === 0) yield { where: `${where}.values`, what: 'must have at least one value' };
    for (const [index, value] of levels.values.entries()) {
      const what = valueFault(variable, value);
      if (what !== undefined) yield { where: `${where}.values[${index}]`, what };
    }
    return;
  }
  if (variable.kind === 'TEXT') {
    yield { where, what: `must have values one by one, as ${variable.name} is a TEXT` };
    return;
  }
  let areEndsValid = true;
  for (const end of ['from', 'to'] as const) {
    const what = valueFault(variable, levels[end]);
    if (what === undefined) continue;
    areEndsValid = false;
    yield { where: `${where}.${end}`, what };
  }
  if (!areEndsValid) return;
  yield* 'step' in levels ? stepFaults(variable, levels, where) : spacingFaults(variable, levels, where);
}

function* stepFaults(
  variable: StudyVariable,
  { from, to, step }: SteppedLevels,
  where: string,
): Generator<ValidationError> {
  if (!Number.isFinite(step) || step === 0) {
    yield { where: `${where}.step`, what: 'must be a finite number other than 0' };
  } else if (variable.kind === 'INTEGER' && !Number.isSafeInteger(step)) {
    yield { where: `${where}.step`, what: `must be a whole number, as ${variable.name} is an INTEGER` };
  } else if ((to - from) * Math.sign(step) < 0) {
    const sign = step < 0 ? 'greater' : 'less';
    yield { where: `${where}.step`, what: `must be ${sign} than 0 to lead from ${from} to ${to}` };
  }
  if (!Number.isFinite(to - from)) yield { where: `${where}.to`, what: `must be closer to ${from}` };
}

function* spacingFaults(
  variable: StudyVariable,
  { from, to, count }: SpacedLevels,
  where: string,
): Generator<ValidationError> {
  if (!Number.isSafeInteger(count) || count < 1) {
    yield { where: `${where}.count`, what: 'must be a whole number of at least 1' };
    return;
  }
  if (from > to) {
    yield { where: `${where}.to`, what: `must be at least ${from}, which the levels begin with` };
  } else if (!Number.isFinite((to - from) * count)) {
    yield { where: `${where}.to`, what: `must be closer to ${from}` };
  }
  if (variable.scale === 'LOGARITHMIC' && from <= 0) {
    yield { where: `${where}.from`, what: 'must be greater than 0 on a logarithmic scale' };
  }
}

function exactCount(levels: Levels): number {
  if ('values' in levels) return levels.values.length;
  return 'step' in levels ? stepsOf(levels).count + 1 : levels.count;
}

/** Steps between the first and the last level, and whether the last is `to` but for rounding. */
function stepsOf({ from, to, step }: SteppedLevels) {
  const quotient = (to - from) / step;
  const nearest = Math.round(quotient);
  const roundingErrorOfEnds = (2 * Number.EPSILON * Math.max(Math.abs(from), Math.abs(to))) / Math.abs(step);
  const tolerance = Math.min(0.25, STEP_TOLERANCE * nearest + roundingErrorOfEnds);
  const endsAtTo = Math.abs(quotient - nearest) <= tolerance;
  return { count: endsAtTo ? nearest : Math.floor(quotient), endsAtTo };
}

function steppedLevel(levels: SteppedLevels): (index: number) => number {
  const { count, endsAtTo } = stepsOf(levels);
  const { from, to, step } = levels;
  return (index) => (endsAtTo && index === count && index > 0 ? to : from + index * step);
}

function spacedLevel(variable: StudyVariable, { from, to, count }: SpacedLevels): (index: number) => number {
  const between = variable.scale === 'LOGARITHMIC' ? logarithmicLevel : linearLevel;
  return (index) => {
    if (index === 0) return from;
    if (index === count - 1) return to;
    const level = Math.min(to, Math.max(from, between(from, to, index, count - 1)));
    return variable.kind === 'INTEGER' ? Math.round(level) : level;
  };
}

function linearLevel(from: number, to: number, index: number, steps: number): number {
  return from + (index * (to - from)) / steps;
}

function logarithmicLevel(from: number, to: number, index: number, steps: number): number {
  const level = Math.exp(linearLevel(Math.log(from), Math.log(to), index, steps));
  return Number(level.toPrecision(LOGARITHMIC_DIGITS));
}
