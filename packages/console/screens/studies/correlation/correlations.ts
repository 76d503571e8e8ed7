/** Correlations of variables and values over the points that finished. */
import type { StudyPoint } from '@workbench-hub/client';
import { type Column, hasResult, numberIn } from '../points.js';

export type CorrelationKind = 'pearson' | 'spearman';

export interface Correlation {
  /** From -1 to 1; undefined where a column does not vary, or too few points have both numbers. */
  readonly value: number | undefined;
  /** Number of points that have both numbers. */
  readonly count: number;
}

/** Points below which a correlation says nothing. */
export const LEAST_POINTS = 3;

/** Matrix of the correlations of columns, row by row. */
export function correlationsOf(
  points: readonly StudyPoint[],
  columns: readonly Column[],
  kind: CorrelationKind,
): readonly (readonly Correlation[])[] {
  const finished = points.filter(hasResult);
  const all = columns.map((column) =>
    Float64Array.from(finished, (point) => numberIn(column, point) ?? Number.NaN),
  );
  // A column that has all its numbers is the same for each pair.
  const complete = all.map((numbers) => {
    if (numbers.some((each) => Number.isNaN(each))) return undefined;
    return kind === 'spearman' ? ranksOf(numbers) : numbers;
  });
  const matrix: Correlation[][] = all.map(() => []);
  for (const [row, a] of all.entries()) {
    for (let at = row; at < all.length; at++) {
      const [wholeA, wholeB] = [complete[row], complete[at]];
      const correlation =
        wholeA && wholeB ? correlated(wholeA, wholeB) : ofPair(a, all[at] as Float64Array, kind);
      (matrix[row] as Correlation[])[at] = correlation;
      (matrix[at] as Correlation[])[row] = correlation;
    }
  }
  return matrix;
}

function ofPair(a: Float64Array, b: Float64Array, kind: CorrelationKind): Correlation {
  const hasBoth = (_: number, at: number) => !Number.isNaN(a[at]) && !Number.isNaN(b[at]);
  const [first, second] = [a.filter(hasBoth), b.filter(hasBoth)];
  return kind === 'pearson' ? correlated(first, second) : correlated(ranksOf(first), ranksOf(second));
}

function correlated(a: Float64Array, b: Float64Array): Correlation {
  const count = a.length;
  if (count < LEAST_POINTS) return { value: undefined, count };
  const [meanA, meanB] = [meanOf(a), meanOf(b)];
  let [squaresA, squaresB, products] = [0, 0, 0];
  for (let at = 0; at < count; at++) {
    const [fromA, fromB] = [(a[at] ?? 0) - meanA, (b[at] ?? 0) - meanB];
    squaresA += fromA * fromA;
    squaresB += fromB * fromB;
    products += fromA * fromB;
  }
  const value = products / Math.sqrt(squaresA) / Math.sqrt(squaresB);
  return { value: Number.isFinite(value) ? Math.max(-1, Math.min(1, value)) : undefined, count };
}

function meanOf(numbers: Float64Array): number {
  return numbers.reduce((sum, each) => sum + each, 0) / numbers.length;
}

/** Ranks of numbers; equal ones share the mean of their ranks. */
function ranksOf(numbers: Float64Array): Float64Array {
  const order = Uint32Array.from(numbers, (_, at) => at).sort(
    (a, b) => (numbers[a] ?? 0) - (numbers[b] ?? 0),
  );
  const ranks = new Float64Array(numbers.length);
  for (let from = 0; from < order.length; ) {
    let to = from + 1;
    while (to < order.length && numbers[order[to] ?? 0] === numbers[order[from] ?? 0]) to++;
    for (let at = from; at < to; at++) ranks[order[at] ?? 0] = (from + to - 1) / 2;
    from = to;
  }
  return ranks;
}
