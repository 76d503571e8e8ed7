/** Filters of the list in the address, and as the hub takes them. */
import type { TaskFilter } from '@workbench-hub/client';
import type { TaskStatus } from '../../data/task-rows.js';

export const STATUSES: readonly TaskStatus[] = ['WAITING', 'RUNNING', 'FINISHED', 'FAILED', 'CANCELED'];
export const PRIORITIES = ['HIGHEST', 'HIGH', 'NORMAL', 'LOW', 'LOWEST'] as const;

/** Periods that are chosen by one click, in milliseconds. */
export const PERIODS_MS = {
  hour: 3_600_000,
  day: 86_400_000,
  week: 7 * 86_400_000,
  month: 30 * 86_400_000,
} as const;
export type Period = keyof typeof PERIODS_MS;

/** As they are typed: an empty text filters nothing. */
export interface Filters {
  readonly status: readonly TaskStatus[];
  /** Part of the name, or with wildcards the whole of it. */
  readonly name: string;
  readonly creator: string;
  readonly priority: string;
  readonly instance: string;
  readonly period: Period | '';
}

export const NO_FILTERS: Filters = {
  status: [],
  name: '',
  creator: '',
  priority: '',
  instance: '',
  period: '',
};

/** Filters of an address; what it says wrongly is left out. */
export function filtersIn(search: string): Filters {
  const query = new URLSearchParams(search);
  const text = (key: string) => (query.get(key) ?? '').slice(0, 200);
  const statuses = text('status').split(',');
  return {
    status: STATUSES.filter((status) => statuses.includes(status)),
    name: text('name'),
    creator: text('creator'),
    priority: PRIORITIES.find((priority) => priority === text('priority')) ?? '',
    instance: text('instance'),
    period: (Object.keys(PERIODS_MS) as Period[]).find((period) => period === text('period')) ?? '',
  };
}

/** The part of an address after the `?`; empty without filters. */
export function searchOf(filters: Filters): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries({ ...filters, status: filters.status.join(',') })) {
    if (value !== '') query.set(key, value);
  }
  return query.toString();
}

/** Filters as the hub takes them. A period ends now, and begins at a whole minute so that it stays the same for a while. */
export function hubFilterOf(filters: Filters, nowMs: number): TaskFilter {
  const { status, name, creator, priority, instance, period } = filters;
  const fromMs = period === '' ? undefined : nowMs - PERIODS_MS[period];
  return {
    ...(status.length === 0 ? {} : { status: [...status] }),
    ...(name.trim() === '' ? {} : { name: patternOf(name.trim()) }),
    ...(creator.trim() === '' ? {} : { creator: creator.trim() }),
    ...(priority === '' ? {} : { priority: priority as NonNullable<TaskFilter['priority']> }),
    ...(instance.trim() === '' ? {} : { instance: [instance.trim()] }),
    ...(fromMs === undefined ? {} : { from: new Date(Math.floor(fromMs / 60_000) * 60_000).toISOString() }),
  };
}

/** A text without wildcards may be anywhere in the name. */
function patternOf(text: string): string {
  return /[*?]/.test(text) ? text : `*${text}*`;
}
