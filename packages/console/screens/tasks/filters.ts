/** Filters of the list in the address, and as the hub takes them. */
import type { TaskFilter } from '@workbench-hub/client';
import type { TaskStatus } from '../../data/task-rows.js';

const MINUTE_MS = 60_000;

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

/** Choices of the time of the request: any, the latest ones, or between two times. */
export type TimeChoice = '' | Period | 'between';
export const TIME_CHOICES = ['', ...(Object.keys(PERIODS_MS) as Period[]), 'between'] as const;

/** Value of the filter by study with which tasks of studies are listed among the others. */
export const ALL_POINTS = 'all';

/** As they are typed: an empty text filters nothing. */
export interface Filters {
  readonly status: readonly TaskStatus[];
  /** Part of the name, or with wildcards the whole of it. */
  readonly name: string;
  readonly creator: string;
  /** Part of the note, or with wildcards the whole of it. */
  readonly note: string;
  readonly priority: string;
  readonly instance: string;
  /** Whether tasks of studies are listed: empty for none of them, {@link ALL_POINTS}, or the id of the one study whose tasks are. */
  readonly study: string;
  readonly period: TimeChoice;
  /** Timestamps in UTC, which count with the period `between`; empty for none. */
  readonly from: string;
  readonly to: string;
}

export const NO_FILTERS: Filters = {
  status: [],
  name: '',
  creator: '',
  note: '',
  priority: '',
  instance: '',
  study: '',
  period: '',
  from: '',
  to: '',
};

const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Whether no condition is set beside that tasks of studies are listed, or are not. */
export function isUnfiltered({ study, ...others }: Filters): boolean {
  return !ID.test(study) && searchOf({ ...others, study: '' }) === '';
}

/** Filters of an address; what it says wrongly is left out. */
export function filtersIn(search: string): Filters {
  const query = new URLSearchParams(search);
  const text = (key: string) => (query.get(key) ?? '').slice(0, 200);
  const statuses = text('status').split(',');
  const time = (key: string) => (Number.isNaN(Date.parse(text(key))) ? '' : text(key));
  return {
    status: STATUSES.filter((status) => statuses.includes(status)),
    name: text('name'),
    creator: text('creator'),
    note: text('note'),
    priority: PRIORITIES.find((priority) => priority === text('priority')) ?? '',
    instance: text('instance'),
    study: text('study') === ALL_POINTS || ID.test(text('study')) ? text('study') : '',
    period: TIME_CHOICES.find((period) => period === text('period')) ?? '',
    from: time('from'),
    to: time('to'),
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
  const { status, name, creator, note, priority, instance } = filters;
  return {
    ...(status.length === 0 ? {} : { status: [...status] }),
    ...nameOrIdOf(name.trim()),
    ...(creator.trim() === '' ? {} : { creator: creator.trim() }),
    ...(note.trim() === '' ? {} : { note: patternOf(note.trim()) }),
    ...(priority === '' ? {} : { priority: priority as NonNullable<TaskFilter['priority']> }),
    ...(instance.trim() === '' ? {} : { instance: [instance.trim()] }),
    ...studyOf(filters),
    ...timesOf(filters, nowMs),
  };
}

/** A task that is looked for by its id may be that of a point. */
function studyOf({ study, name }: Filters): Pick<TaskFilter, 'study'> {
  if (study === ALL_POINTS) return {};
  if (study !== '') return { study };
  return ID_OR_ITS_END.test(name.trim()) ? {} : { study: 'none' };
}

function timesOf({ period, from, to }: Filters, nowMs: number): Pick<TaskFilter, 'from' | 'to'> {
  const iso = (ms: number) => new Date(ms).toISOString();
  if (period === '') return {};
  if (period !== 'between')
    return { from: iso(Math.floor((nowMs - PERIODS_MS[period]) / MINUTE_MS) * MINUTE_MS) };
  return {
    ...(from === '' ? {} : { from: iso(Date.parse(from)) }),
    // The minute that the reader has chosen belongs to it.
    ...(to === '' ? {} : { to: iso(Date.parse(to) + MINUTE_MS) }),
  };
}

/** The value of a field for date and time, in the zone of the reader; empty for none. */
export function localText(timestamp: string): string {
  const ms = Date.parse(timestamp);
  if (Number.isNaN(ms)) return '';
  const localMs = ms - new Date(ms).getTimezoneOffset() * MINUTE_MS;
  return new Date(localMs).toISOString().slice(0, 16);
}

/** The timestamp in UTC of such a field, which is empty while it is half typed. */
export function timestampOf(local: string): string {
  const ms = /^\d{4,6}-\d\d-\d\dT\d\d:\d\d/.test(local) ? Date.parse(local) : Number.NaN;
  return Number.isNaN(ms) ? '' : `${new Date(ms).toISOString().slice(0, 16)}Z`;
}

/** A whole id, or its last eight digits as lists show them, finds the task itself. */
const ID_OR_ITS_END = /^(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{8})$/i;

/** Filter by what is typed for the name of a task. */
export function nameOrIdOf(text: string): TaskFilter {
  if (ID_OR_ITS_END.test(text)) return { id: `*${text.toLowerCase()}` };
  return text === '' ? {} : { name: patternOf(text) };
}

/** A text without wildcards may be anywhere in what is searched. */
function patternOf(text: string): string {
  return /[*?]/.test(text) ? text : `*${text}*`;
}
