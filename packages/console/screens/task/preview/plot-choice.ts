/** Columns of a table that are plotted. */
import type { Column } from './value-table.js';

const FIRST_CURVES = 3;
/** A curve that is this many times as high hides another one. */
const SEEN_RATIO = 20;

export interface Choice {
  /** Number of a column, or undefined for the number of the row. */
  readonly x: number | undefined;
  readonly y: readonly number[];
  readonly isLogarithmic: boolean;
}

/** The first column across if it never falls; up the first other one that is no counter, and those that are seen beside it. */
export function firstChoice(columns: readonly Column[]): Choice {
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
