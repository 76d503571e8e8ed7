/** Place within the screen of a task, as its address has it: `?tab=outputs&file=a/b.csv&view=plot&x=1&y=2,3`. */
import { type PlotRange, typedNumber, WHOLE } from './preview/plot-range.js';

export const TABS = ['log', 'inputs', 'outputs'] as const;
export type Tab = (typeof TABS)[number];

/** Curves of a plot; columns are counted from 0. */
export interface PlotChoice {
  /** Column across, or undefined for the number of the row. */
  readonly x: number | undefined;
  readonly y: readonly number[];
  readonly isLogarithmic: boolean;
}

export interface Place {
  readonly tab: Tab;
  /** Line of the log, counted from 1. */
  readonly line: number | undefined;
  /** Path of the output that is previewed. */
  readonly file: string | undefined;
  /** Name of the file in the output storage that is previewed. */
  readonly stored: string | undefined;
  readonly isPlot: boolean;
  /** Choice of the reader; undefined for the columns that are plotted at first. */
  readonly plot: PlotChoice | undefined;
  readonly range: PlotRange;
}

/** Place of another file: none of its plot is chosen. */
export const NO_PLOT = { isPlot: false, plot: undefined, range: WHOLE } as const;

/** Place that the part of an address after the `?` names; what it says wrongly is left out. */
export function placeIn(search: string): Place {
  const query = new URLSearchParams(search);
  const text = (key: string) => query.get(key) || undefined;
  const line = wholeNumbers(text('line') ?? '')[0];
  return {
    tab: TABS.find((tab) => tab === text('tab')) ?? 'log',
    line: line === 0 ? undefined : line,
    file: text('file'),
    stored: text('stored'),
    isPlot: text('view') === 'plot',
    plot: plotIn(text('x'), text('y'), text('scale')),
    range: { from: typedNumber(text('from') ?? ''), to: typedNumber(text('to') ?? '') },
  };
}

function plotIn(
  x: string | undefined,
  y: string | undefined,
  scale: string | undefined,
): PlotChoice | undefined {
  if (x === undefined) return undefined;
  const [across] = wholeNumbers(x);
  const up = wholeNumbers(y ?? '').filter((column) => column > 0);
  return {
    x: across === undefined || across === 0 ? undefined : across - 1,
    y: up.map((column) => column - 1),
    isLogarithmic: scale === 'log',
  };
}

function wholeNumbers(text: string): readonly number[] {
  return text.split(',').flatMap((each) => (/^\d{1,15}$/.test(each) ? [Number(each)] : []));
}

/** The part of an address after the `?`; empty for the log. Columns are counted from 1, and 0 is the number of the row. */
export function searchOf({ tab, line, file, stored, isPlot, plot, range }: Place): string {
  const query = new URLSearchParams();
  const set = (key: string, value: string | number | undefined) =>
    value !== undefined && query.set(key, String(value));
  if (tab !== 'log') set('tab', tab);
  set('line', line);
  set('file', file);
  set('stored', stored);
  if (isPlot) set('view', 'plot');
  if (plot !== undefined) {
    set('x', plot.x === undefined ? 0 : plot.x + 1);
    set('y', plot.y.map((column) => column + 1).join(','));
    if (plot.isLogarithmic) set('scale', 'log');
  }
  set('from', range.from);
  set('to', range.to);
  return query.toString();
}
