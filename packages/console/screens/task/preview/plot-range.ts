/** Part of a plot that is shown, by the values across. */

/** Lowest and highest value; undefined for no limit. */
export interface PlotRange {
  readonly from: number | undefined;
  readonly to: number | undefined;
}

export const WHOLE: PlotRange = { from: undefined, to: undefined };

/** First row within the range, and the one after the last. The values never fall. */
export function rowsWithin(
  across: Float64Array,
  { from, to }: PlotRange,
): readonly [first: number, end: number] {
  const first = from === undefined ? 0 : firstRow(across, (value) => value >= from);
  const end = to === undefined ? across.length : firstRow(across, (value) => value > to);
  return [first, Math.max(first, end)];
}

/** The first row whose value is so, by halving. */
function firstRow(across: Float64Array, isSo: (value: number) => boolean): number {
  let low = 0;
  let high = across.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isSo(across[middle] ?? 0)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The number that is typed, with a point or a comma; undefined for none. */
export function typedNumber(text: string): number | undefined {
  const value = Number(text.trim().replace(',', '.'));
  return text.trim() === '' || !Number.isFinite(value) ? undefined : value;
}
