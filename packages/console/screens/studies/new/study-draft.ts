/** A study that is being put together from a job. */
import type { StudyJob } from '@workbench-hub/client';
import { typedNumber } from '../../task/preview/plot-range.js';

export type VariableKind = 'NUMBER' | 'INTEGER' | 'TEXT';
/** Form of levels: a number of them at equal distances, steps, or one by one. */
export type LevelForm = 'COUNT' | 'STEP' | 'LIST';
export const PLANS = ['GRID', 'ONE_AT_A_TIME', 'LATIN_HYPERCUBE', 'SOBOL'] as const;
export type PlanKind = (typeof PLANS)[number];
export type ValueRule = NonNullable<StudyJob['values']>[number];

/** A variable of the job that differs from point to point; its numbers are as typed. */
export interface VariedVariable {
  readonly name: string;
  readonly kind: VariableKind;
  readonly unit: string;
  readonly isLogarithmic: boolean;
  readonly form: LevelForm;
  readonly from: string;
  readonly to: string;
  readonly step: string;
  readonly count: string;
  readonly list: string;
}

export interface StudyDraft {
  /** Task from whose job it began; undefined for a job that was never handed in. */
  readonly earlierTaskId: string | undefined;
  readonly name: string;
  readonly varied: readonly VariedVariable[];
  readonly plan: PlanKind;
  /** Number of sampled points as typed. */
  readonly count: string;
  readonly seed: string;
  /** Values that are wanted from the outputs of the earlier task: by the key of the offer, what is taken of a column. */
  readonly wanted: Readonly<Record<string, Take>>;
  /** Rules that were typed, such as `stress=result.json#$.stress`. */
  readonly rules: readonly string[];
  /** Whether points take results of earlier tasks with equal inputs. */
  readonly reuse: boolean;
  /** Whether very small points may run several as one task. */
  readonly bundle: boolean;
}

export const TAKES = ['LAST', 'FIRST', 'MIN', 'MAX', 'MEAN', 'SUM', 'COUNT'] as const;
export type Take = (typeof TAKES)[number];

export const EMPTY_STUDY: StudyDraft = {
  earlierTaskId: undefined,
  name: '',
  varied: [],
  plan: 'GRID',
  count: '200',
  seed: '1',
  wanted: {},
  rules: [],
  reuse: false,
  bundle: false,
};

export function isSampled(plan: PlanKind): boolean {
  return plan === 'LATIN_HYPERCUBE' || plan === 'SOBOL';
}

/** A variable around the value that it has in the job. */
export function variedAround(name: string, value: string): VariedVariable {
  const number = typedNumber(value);
  const ends = number === undefined ? [] : number === 0 ? [0, 1] : [number / 2, number * 1.5];
  const [from = '', to = ''] = ends.sort((a, b) => a - b).map((end) => String(Number(end.toPrecision(6))));
  return {
    name,
    kind: number === undefined ? 'TEXT' : 'NUMBER',
    unit: '',
    isLogarithmic: false,
    form: number === undefined ? 'LIST' : 'COUNT',
    from,
    to,
    step: '',
    count: '5',
    list: value,
  };
}

/** The form in which a variable is given: a text has its levels one by one. */
export function formOf({ kind, form }: VariedVariable): LevelForm {
  return kind === 'TEXT' ? 'LIST' : form;
}

/** A fault of a field; `where` is its place in the request, as the hub names it. */
export interface Fault<What extends string = string> {
  readonly where: string;
  readonly what: What;
}

/** Faults in a refusal of the hub: `plan.levels[0].to: must be closer to 1; name: is required`. */
export function faultsIn(message: string): readonly Fault[] {
  return message.split(/; (?=[a-zA-Z]+[\w.[\]]*: )/).flatMap((part) => {
    const { where, what } = /^(?<where>[a-zA-Z]+[\w.[\]]*): (?<what>.+)$/s.exec(part)?.groups ?? {};
    return where === undefined || what === undefined ? [] : [{ where, what }];
  });
}

const FIELDS = {
  from: /^(?:variables\[\d+\]\.lower|plan\.levels\[\d+\]\.from)$/,
  to: /^(?:variables\[\d+\]\.upper|plan\.levels\[\d+\]\.to)$/,
  step: /^plan\.levels\[\d+\]\.step$/,
  count: /^plan\.levels\[\d+\]\.count$/,
  list: /^plan\.levels\[\d+\]\.values/,
  unit: /^variables\[\d+\]\.unit$/,
} as const;
export type VariableField = keyof typeof FIELDS;

/** Whether a fault is one of the variable at this index, or of a field of it. */
export function isOfVariable({ where }: Fault, index: number, field?: VariableField): boolean {
  const isThere = [`variables[${index}]`, `plan.levels[${index}]`].some(
    (place) => where === place || where.startsWith(`${place}.`),
  );
  return isThere && (field === undefined || FIELDS[field].test(where));
}

export type DraftFault =
  | 'number'
  | 'whole'
  | 'order'
  | 'direction'
  | 'positive'
  | 'none'
  | 'nothing'
  | 'rule';

/** Faults that show without the hub. */
export function faultsOf(
  { name, varied, plan, count, seed, rules }: StudyDraft,
  isRule: (text: string) => boolean,
) {
  const faults: Fault<DraftFault>[] = [];
  const add = (where: string, what: DraftFault, isFaulty: boolean) => {
    if (isFaulty) faults.push({ where, what });
  };
  add('name', 'nothing', name.trim() === '');
  add('variables', 'none', varied.length === 0);
  for (const [index, variable] of varied.entries()) faults.push(...faultsOfVariable(variable, index, plan));
  if (isSampled(plan)) add('plan.count', 'whole', !isWhole(count, 1));
  if (plan === 'LATIN_HYPERCUBE' || (plan === 'SOBOL' && seed.trim() !== ''))
    add('plan.seed', 'whole', !isWhole(seed, 0));
  for (const [index, rule] of rules.entries()) add(`rules[${index}]`, 'rule', !isRule(rule));
  return faults;
}

function faultsOfVariable(variable: VariedVariable, index: number, plan: PlanKind): Fault<DraftFault>[] {
  const levels = `plan.levels[${index}]`;
  const variableAt = `variables[${index}]`;
  if (isSampled(plan)) {
    if (variable.kind === 'TEXT') return [{ where: `${variableAt}.kind`, what: 'number' }];
    return faultsOfEnds(variable, [`${variableAt}.lower`, `${variableAt}.upper`]);
  }
  const ends = [`${levels}.from`, `${levels}.to`] as const;
  switch (formOf(variable)) {
    case 'LIST':
      return listOf(variable) === undefined ? [{ where: `${levels}.values`, what: 'number' }] : [];
    case 'STEP': {
      const fault = faultOfStep(variable);
      return [
        ...faultsOfEnds({ ...variable, isLogarithmic: false }, ends, true),
        ...(fault === undefined ? [] : [{ where: `${levels}.step`, what: fault }]),
      ];
    }
    case 'COUNT': {
      const what = 'whole' as const;
      return [
        ...faultsOfEnds(variable, ends),
        ...(isWhole(variable.count, 1) ? [] : [{ where: `${levels}.count`, what }]),
      ];
    }
  }
}

/** Fault of a step, which must lead from one end to the other. */
function faultOfStep({ from, to, step }: VariedVariable): DraftFault | undefined {
  const by = typedNumber(step);
  if (by === undefined || by === 0) return 'number';
  const way = (typedNumber(to) ?? 0) - (typedNumber(from) ?? 0);
  return way * by < 0 ? 'direction' : undefined;
}

/** Faults of both ends, whose places in the request are given. */
function faultsOfEnds(
  { from, to, isLogarithmic }: VariedVariable,
  [fromAt, toAt]: readonly [string, string],
  isDescendingAllowed = false,
): Fault<DraftFault>[] {
  const [low, high] = [typedNumber(from), typedNumber(to)];
  const faults: Fault<DraftFault>[] = [];
  if (low === undefined) faults.push({ where: fromAt, what: 'number' });
  else if (isLogarithmic && low <= 0) faults.push({ where: fromAt, what: 'positive' });
  if (high === undefined) faults.push({ where: toAt, what: 'number' });
  else if (low !== undefined && low > high && !isDescendingAllowed)
    faults.push({ where: toAt, what: 'order' });
  return faults;
}

function isWhole(text: string, least: number): boolean {
  return /^\d+$/.test(text.trim()) && Number(text) >= least && Number.isSafeInteger(Number(text));
}

/** Levels that are given one by one; undefined when one of them is no number and should be. With a semicolon, a comma is a decimal sign. */
export function listOf({ kind, list }: VariedVariable): readonly (number | string)[] | undefined {
  const separator = list.includes(';') ? /;/ : kind === 'TEXT' ? /,/ : /[,\s]+/;
  const parts = list
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== '');
  if (parts.length === 0) return undefined;
  if (kind === 'TEXT') return parts;
  const numbers = parts.flatMap((part) => typedNumber(part) ?? []);
  return numbers.length === parts.length ? numbers : undefined;
}
