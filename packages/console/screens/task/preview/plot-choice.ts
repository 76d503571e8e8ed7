/** Columns of a table that are plotted. */
import type { PlotChoice } from '../place.js';
import type { Column } from './value-table.js';

const FIRST_CURVES = 3;
/** Curves that a plot has at most. */
export const MAX_CURVES = 8;
/** A curve that is this many times as high hides another one. */
const SEEN_RATIO = 20;

/** Choice without columns that the table cannot plot: another file may have been meant. */
export function plottable(columns: readonly Column[], { x, y, isLogarithmic }: PlotChoice): PlotChoice {
  return {
    x: x !== undefined && columns[x]?.isAscending ? x : undefined,
    y: y.filter((at) => (columns[at]?.count ?? 0) > 0).slice(0, MAX_CURVES),
    isLogarithmic,
  };
}

/** The first column across if it never falls; up the first other one that is no counter, and those that are seen beside it. */
export function firstChoice(columns: readonly Column[]): PlotChoice {
  const x = columns[0]?.isAscending && columns[0].count > 1 ? 0 : undefined;
  const others = columns.flatMap(({ count }, at) => (count > 0 && at !== x ? [at] : []));
  const first = others.find((at) => !columns[at]?.isAscending) ?? others[0];
  const size = (at: number) => columns[at]?.largest ?? 0;
  const isSeenBeside = (at: number) =>
    first === undefined ||
    at === first ||
    (at > first && size(at) <= SEEN_RATIO * size(first) && SEEN_RATIO * size(at) >= size(first));
  return { x, y: others.filter(isSeenBeside).slice(0, FIRST_CURVES), isLogarithmic: false };
}
