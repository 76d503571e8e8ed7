/** Points of a plan before they run, and the request for them. */
import type { StudyJob } from '@workbench-hub/client';
import { typedNumber } from '../../task/preview/plot-range.js';
import { formOf, isSampled, listOf, type StudyDraft, type VariedVariable } from './study-draft.js';

type PointValue = number | string;

interface Levels {
  readonly count: number;
  at(index: number): PointValue;
}

export interface Planned {
  readonly count: number;
  /** The first points, with values in the order of the variables; undefined for points that the hub draws. */
  readonly first: readonly (readonly PointValue[])[] | undefined;
}

const SHOWN_POINTS = 10;
/** Levels of a variable beyond which the points of a plan are not counted one by one. */
const MAX_LEVELS = 1_000_000;
/** Distance from the end, relative to the number of steps, below which a step reaches it. */
const STEP_TOLERANCE = 1e-9;
const LOGARITHMIC_DIGITS = 12;

/** Points of a draft without faults, where the values that the variables have in the job are the base. */
export function plannedOf(draft: StudyDraft, base: readonly PointValue[]): Planned {
  const { varied, plan, count } = draft;
  if (isSampled(plan)) return { count: Number(count), first: undefined };
  const axes = varied.map(levelsOf);
  return plan === 'GRID' ? gridOf(axes) : oneAtATimeOf(axes, base);
}

function gridOf(axes: readonly Levels[]): Planned {
  const count = axes.reduce((product, axis) => product * axis.count, 1);
  const first = Array.from({ length: Math.min(count, SHOWN_POINTS) }, (_, index) => {
    let rest = index;
    return axes
      .toReversed()
      .map((axis) => {
        const value = axis.at(rest % axis.count);
        rest = Math.floor(rest / axis.count);
        return value;
      })
      .reverse();
  });
  return { count, first };
}

function oneAtATimeOf(axes: readonly Levels[], base: readonly PointValue[]): Planned {
  const first: (readonly PointValue[])[] = [base];
  let count = 1;
  for (const [position, axis] of axes.entries()) {
    if (axis.count > MAX_LEVELS) return { count: axis.count, first };
    for (let index = 0; index < axis.count; index++) {
      const value = axis.at(index);
      if (value === base[position]) continue;
      count++;
      if (first.length < SHOWN_POINTS) first.push(base.with(position, value));
    }
  }
  return { count, first };
}

function levelsOf(variable: VariedVariable): Levels {
  const form = formOf(variable);
  if (form === 'LIST') {
    const list = listOf(variable) ?? [];
    return { count: list.length, at: (index) => list[index] ?? '' };
  }
  const [from, to] = [numberOf(variable.from), numberOf(variable.to)];
  return form === 'STEP'
    ? steppedLevels(from, to, numberOf(variable.step))
    : spacedLevels(variable, from, to, Number(variable.count));
}

function numberOf(typed: string): number {
  return typedNumber(typed) ?? 0;
}

/** Levels from one end on; the other end is one if a step leads to it. */
function steppedLevels(from: number, to: number, step: number): Levels {
  const quotient = (to - from) / step;
  const nearest = Math.round(quotient);
  const endsAtTo = Math.abs(quotient - nearest) <= STEP_TOLERANCE * Math.max(1, nearest);
  const last = endsAtTo ? nearest : Math.floor(quotient);
  return {
    count: Math.max(0, last + 1),
    at: (index) => (endsAtTo && index === last && index > 0 ? to : from + index * step),
  };
}

/** Levels from one end to the other at equal distances on the scale of the variable. */
function spacedLevels(
  { kind, isLogarithmic }: VariedVariable,
  from: number,
  to: number,
  count: number,
): Levels {
  const between = (index: number) => {
    const share = index / (count - 1);
    if (!isLogarithmic) return from + share * (to - from);
    const power = Math.log(from) + share * (Math.log(to) - Math.log(from));
    return Number(Math.exp(power).toPrecision(LOGARITHMIC_DIGITS));
  };
  return {
    count,
    at: (index) => {
      const level = index === 0 ? from : index === count - 1 ? to : between(index);
      return kind === 'INTEGER' ? Math.round(level) : level;
    },
  };
}

/** Variables and plan of a draft without faults, as the hub takes them. */
export function requestOf(draft: StudyDraft, base: readonly PointValue[]): Pick<StudyJob, 'vary' | 'plan'> {
  const { varied, plan, count, seed } = draft;
  const vary = varied.map((variable) => ({
    name: variable.name,
    kind: variable.kind,
    ...(variable.unit.trim() === '' ? {} : { unit: variable.unit.trim() }),
    ...(variable.isLogarithmic && variable.kind !== 'TEXT' ? { scale: 'LOGARITHMIC' as const } : {}),
    ...(isSampled(plan) ? { lower: numberOf(variable.from), upper: numberOf(variable.to) } : {}),
  }));
  const seeded = seed.trim() === '' ? {} : { seed: Number(seed) };
  switch (plan) {
    case 'LATIN_HYPERCUBE':
      return { vary, plan: { kind: plan, count: Number(count), seed: Number(seed) } };
    case 'SOBOL':
      return { vary, plan: { kind: plan, count: Number(count), ...seeded } };
    case 'GRID':
      return { vary, plan: { kind: plan, levels: varied.map(requestedLevels) } };
    case 'ONE_AT_A_TIME': {
      const point = Object.fromEntries(varied.map(({ name }, index) => [name, base[index] ?? '']));
      return { vary, plan: { kind: plan, base: point, levels: varied.map(requestedLevels) } };
    }
  }
}

function requestedLevels(variable: VariedVariable) {
  const { name, from, to, step, count } = variable;
  const form = formOf(variable);
  if (form === 'LIST') return { variable: name, values: [...(listOf(variable) ?? [])] };
  const ends = { variable: name, from: numberOf(from), to: numberOf(to) };
  return form === 'STEP' ? { ...ends, step: numberOf(step) } : { ...ends, count: Number(count) };
}

/** Values of the varied variables in the job, as numbers where they are to be numbers. */
export function baseOf(
  varied: readonly VariedVariable[],
  variables: readonly { readonly key: string; readonly value: string }[],
): readonly PointValue[] {
  return varied.map(({ name, kind }) => {
    const text = variables.find(({ key }) => key === name)?.value ?? '';
    return kind === 'TEXT' ? text : (typedNumber(text) ?? text);
  });
}

/** Time in milliseconds that points take on instances, if each takes as long as the job did. */
export function estimateMs(runMs: number, points: number, instances: number): number {
  return runMs * Math.ceil(points / instances);
}
