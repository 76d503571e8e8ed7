/** Points of a study as rows of a table: their columns, order, filters, and groups of failures. */
import type { StudyDetails, StudyPoint } from '@workbench-hub/client';
import { OUTCOMES, type Outcome } from './progress.js';

/** Outcome of a point; OPEN while its task waits or runs. */
export type PointState = Outcome | 'OPEN';
export const POINT_STATES: readonly PointState[] = [...OUTCOMES, 'OPEN'];

/** A variable or a value of the study. */
export interface Column {
  /** Key in the address; a value may have the name of a variable. */
  readonly key: string;
  readonly name: string;
  readonly unit: string | undefined;
  readonly isNumeric: boolean;
  readonly of: (point: StudyPoint) => number | string | undefined;
}

export function columnsOf({ variables, values }: Pick<StudyDetails, 'variables' | 'values'>): Column[] {
  return [
    ...variables.map((variable) => columnOf('variables', variable)),
    ...values.map((value) => columnOf('values', value)),
  ];
}

type Described = Pick<StudyDetails['variables'][number], 'name' | 'kind' | 'unit'>;

function columnOf(kind: 'variables' | 'values', { name, kind: type, unit }: Described): Column {
  const isNumeric = type !== 'TEXT';
  const of = (point: StudyPoint) => {
    const given = point[kind][name];
    return isNumeric && typeof given === 'string' ? Number(given) : given;
  };
  return { key: `${kind}.${name}`, name, unit, isNumeric, of };
}

/** The finite number of a point in a column; undefined for none. */
export function numberIn(column: Column, point: StudyPoint): number | undefined {
  const given = column.of(point);
  return typeof given === 'number' && Number.isFinite(given) ? given : undefined;
}

/** Outcomes with which a point has a result that counts. */
const RESULTS: readonly Outcome[] = ['FINISHED', 'REUSED'];

/** Whether a point has a result that counts. */
export function hasResult({ outcome }: StudyPoint): boolean {
  return outcome !== undefined && RESULTS.includes(outcome);
}

export function stateOf({ outcome }: StudyPoint): PointState {
  return outcome ?? 'OPEN';
}

export interface Order {
  /** Key of a column, or `number`, `outcome` or `message`. */
  readonly key: string;
  readonly isDescending: boolean;
}

const texts = new Intl.Collator('en', { numeric: true });

/** Points in this order, those without what it asks for at the end, and otherwise by number. */
export function sorted(
  points: readonly StudyPoint[],
  columns: readonly Column[],
  { key, isDescending }: Order,
): readonly StudyPoint[] {
  if (key === 'number') return isDescending ? points.toReversed() : points;
  const of = fieldOf(key, columns);
  if (of === undefined) return points;
  const sign = isDescending ? -1 : 1;
  return points
    .map((point) => ({ point, field: of(point) }))
    .sort((a, b) => rankOf(a.field) - rankOf(b.field) || sign * compared(a.field, b.field))
    .map(({ point }) => point);
}

type Field = number | string | undefined;

function fieldOf(key: string, columns: readonly Column[]): ((point: StudyPoint) => Field) | undefined {
  if (key === 'outcome') return (point) => POINT_STATES.indexOf(stateOf(point));
  if (key === 'message') return ({ message, notReused }) => message ?? notReused;
  return columns.find((column) => column.key === key)?.of;
}

function rankOf(field: Field): number {
  if (field === undefined) return 3;
  if (typeof field === 'string') return 1;
  return Number.isNaN(field) ? 2 : 0;
}

function compared(a: Field, b: Field): number {
  if (typeof a === 'string' && typeof b === 'string') return texts.compare(a, b);
  if (typeof a !== 'number' || typeof b !== 'number' || a === b) return 0;
  return a < b ? -1 : 1;
}

/** A reason for which points failed: the same outcome, cause and first line of the message. */
export interface Failure {
  readonly outcome: Outcome;
  readonly cause: StudyPoint['cause'];
  readonly reason: string;
}

const LONGEST_REASON = 300;
/** Value of a point in a message such as `stress is 1600.5, more than 1500`. */
const MEASURED = / is -?(?:[\d.]+(?:e[+-]?\d+)?|Infinity),/g;

/** Why a point failed; undefined for one that did not. */
function failureOf(point: StudyPoint): Failure | undefined {
  const { outcome, cause, message = '' } = point;
  if (outcome === undefined || hasResult(point)) return undefined;
  const line = message.trim().split('\n', 1)[0] ?? '';
  // The measured number is left out, so that points that miss the same condition form one group.
  const reason = outcome === 'RULE_FAILED' ? line.replaceAll(MEASURED, ' is …,') : line;
  return { outcome, cause, reason: reason.slice(0, LONGEST_REASON) };
}

export interface FailureGroup extends Failure {
  readonly count: number;
  /** The first point of them. */
  readonly example: StudyPoint;
}

/** Failures by their reason, the most frequent ones first. */
export function failureGroups(points: readonly StudyPoint[]): readonly FailureGroup[] {
  const groups = new Map<string, FailureGroup>();
  for (const point of points) {
    const failure = failureOf(point);
    if (failure === undefined) continue;
    const key = JSON.stringify(failure);
    const { count = 0, example = point } = groups.get(key) ?? {};
    groups.set(key, { ...failure, count: count + 1, example });
  }
  return [...groups.values()].sort((a, b) => b.count - a.count);
}

export interface PointFilter {
  /** None for all. */
  readonly states: readonly PointState[];
  readonly failure: Failure | undefined;
}

export function filtered(
  points: readonly StudyPoint[],
  { states, failure }: PointFilter,
): readonly StudyPoint[] {
  const wanted = failure && JSON.stringify(failure);
  if (states.length === 0 && wanted === undefined) return points;
  return points.filter(
    (point) =>
      (states.length === 0 || states.includes(stateOf(point))) &&
      (wanted === undefined || JSON.stringify(failureOf(point)) === wanted),
  );
}

/** The finished point with the lowest or highest number in a column; the first of several. */
export function bestOf(
  points: readonly StudyPoint[],
  column: Column,
  isMaximum: boolean,
): { readonly point: StudyPoint; readonly value: number } | undefined {
  let best: { point: StudyPoint; value: number } | undefined;
  for (const point of points) {
    const value = hasResult(point) ? numberIn(column, point) : undefined;
    if (value === undefined) continue;
    const isBetter = best === undefined || (isMaximum ? value > best.value : value < best.value);
    if (isBetter) best = { point, value };
  }
  return best;
}
