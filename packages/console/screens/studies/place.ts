/** Place within the page of a study, as its address has it: `?tab=plot&sort=values.stress&outcome=FINISHED`. */
import { type Failure, type Order, POINT_STATES, type PointState } from './points.js';
import { OUTCOMES } from './progress.js';

export const TABS = ['points', 'compare', 'plot', 'parallel', 'correlation', 'failures'] as const;
export type StudyTab = (typeof TABS)[number];

/** Scale of an axis; undefined for the one that fits its numbers. */
export type ScaleChoice = 'linear' | 'log' | undefined;

export interface StudyPlace {
  readonly tab: StudyTab;
  readonly order: Order;
  readonly states: readonly PointState[];
  readonly failure: Failure | undefined;
  /** Numbers of the points that are compared, rising. */
  readonly chosen: readonly number[];
  /** Keys of the columns of the plot; undefined for the first ones. */
  readonly x: string | undefined;
  readonly y: string | undefined;
  readonly xScale: ScaleChoice;
  readonly yScale: ScaleChoice;
  /** Keys of the columns of parallel coordinates and correlations; none for the first ones. */
  readonly axes: readonly string[];
  readonly correlation: 'pearson' | 'spearman';
  /** Key of the value whose best point is named. */
  readonly best: string | undefined;
  readonly isMaximum: boolean;
}

const CAUSES = ['CRASH', 'LOSS', 'HOST_FAULT'] as const;

/** Place that the part of an address after the `?` names; what it says wrongly is left out. */
export function placeIn(search: string): StudyPlace {
  const query = new URLSearchParams(search);
  const text = (key: string) => query.get(key) || undefined;
  const states = (text('outcome') ?? '').split(',');
  const scale = (key: string) => (['linear', 'log'] as const).find((each) => each === text(key));
  return {
    tab: TABS.find((tab) => tab === text('tab')) ?? 'points',
    order: { key: text('sort') ?? 'number', isDescending: text('order') === 'desc' },
    states: POINT_STATES.filter((state) => states.includes(state)),
    failure: failureIn(query),
    chosen: numbersIn(text('chosen') ?? ''),
    x: text('x'),
    y: text('y'),
    xScale: scale('x-scale'),
    yScale: scale('y-scale'),
    axes: query.getAll('axis'),
    correlation: text('correlation') === 'spearman' ? 'spearman' : 'pearson',
    best: text('best'),
    isMaximum: text('goal') === 'max',
  };
}

/** Points that are compared at most: more have no room side by side. */
export const MAX_CHOSEN = 12;

function numbersIn(text: string): readonly number[] {
  const numbers = text.split(',').flatMap((each) => (/^[1-9]\d{0,9}$/.test(each) ? [Number(each)] : []));
  return [...new Set(numbers)].sort((a, b) => a - b).slice(0, MAX_CHOSEN);
}

function failureIn(query: URLSearchParams): Failure | undefined {
  const outcome = OUTCOMES.find((each) => each === query.get('failed'));
  if (outcome === undefined) return undefined;
  const cause = CAUSES.find((each) => each === query.get('cause'));
  return { outcome, cause, reason: query.get('reason') ?? '' };
}

/** The part of an address after the `?`; empty for all points by number. */
export function searchOf(place: StudyPlace): string {
  const { tab, order, states, failure, chosen, best, isMaximum } = place;
  const query = new URLSearchParams();
  const set = (key: string, value: string | undefined) => value && query.set(key, value);
  set('tab', tab === 'points' ? '' : tab);
  set('sort', order.key === 'number' ? '' : order.key);
  set('order', order.isDescending ? 'desc' : '');
  set('outcome', states.join(','));
  set('failed', failure?.outcome);
  set('cause', failure?.cause);
  set('reason', failure?.reason);
  set('chosen', chosen.toSorted((a, b) => a - b).join(','));
  set('x', place.x);
  set('y', place.y);
  set('x-scale', place.xScale);
  set('y-scale', place.yScale);
  for (const axis of place.axes) query.append('axis', axis);
  set('correlation', place.correlation === 'pearson' ? '' : place.correlation);
  set('best', best);
  set('goal', isMaximum ? 'max' : '');
  return query.toString();
}
