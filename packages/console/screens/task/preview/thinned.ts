/** Fewer points of a curve that look the same: of each stretch the lowest and the highest one. */

export interface Curves {
  readonly x: Float64Array;
  readonly y: readonly (number | null)[][];
  /** Whether points were left out. */
  readonly isThinned: boolean;
}

/** `x` does not fall. Each `y` has a number for each `x`; NaN is a gap. */
export function thinnedCurves(x: Float64Array, y: readonly Float64Array[], maxPoints: number): Curves {
  if (x.length <= maxPoints) return { x, y: y.map((each) => Array.from(each, orGap)), isThinned: false };
  // Two points for each curve and stretch, on an axis that they share.
  const stretches = Math.max(1, Math.floor(maxPoints / (2 * Math.max(y.length, 1))));
  const kept = new Set<number>([0, x.length - 1]);
  for (let stretch = 0; stretch < stretches; stretch++) {
    const from = Math.floor((stretch * x.length) / stretches);
    const to = Math.floor(((stretch + 1) * x.length) / stretches);
    for (const values of y) for (const at of extremes(values, from, to)) kept.add(at);
  }
  const rows = [...kept].sort((a, b) => a - b);
  return {
    x: Float64Array.from(rows, (row) => x[row] ?? 0),
    y: y.map((values) => rows.map((row) => orGap(values[row] ?? Number.NaN))),
    isThinned: true,
  };
}

function extremes(values: Float64Array, from: number, to: number): readonly number[] {
  let lowest = -1;
  let highest = -1;
  for (let at = from; at < to; at++) {
    const value = values[at] ?? Number.NaN;
    if (!Number.isFinite(value)) continue;
    if (lowest < 0 || value < (values[lowest] ?? 0)) lowest = at;
    if (highest < 0 || value > (values[highest] ?? 0)) highest = at;
  }
  return lowest < 0 ? [] : [lowest, highest];
}

function orGap(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
