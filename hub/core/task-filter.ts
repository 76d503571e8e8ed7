/** Filters of tasks, applied to one task; the store applies the same to its lists. */
import type { Priority } from '@workbench-hub/shared/domain/priority';
import type { TaskStatus, TaskType } from '@workbench-hub/shared/domain/task';
import { matchesWildcard } from '@workbench-hub/shared/domain/wildcard';
import type { Task } from './task.js';

/** Texts of a task that a filter can search by a pattern with wildcards. Long ones are rare; stores keep them apart from the others. */
export const SEARCHED_TEXTS = [
  { field: 'id', hasCase: true, isLong: false },
  { field: 'name', hasCase: false, isLong: false },
  { field: 'creator', hasCase: true, isLong: false },
  { field: 'note', hasCase: false, isLong: true },
] as const;

export type SearchedField = (typeof SEARCHED_TEXTS)[number]['field'];

/** A pattern for each text that is searched, and other conditions. */
export interface TaskFilter extends Partial<Readonly<Record<SearchedField, string | undefined>>> {
  readonly type?: TaskType | undefined;
  readonly priority?: Priority | undefined;
  /** Any of these statuses; empty for all. */
  readonly statuses: readonly TaskStatus[];
  /** Any of these instances runs it, or has run it last; empty or undefined for all. */
  readonly instances?: readonly string[] | undefined;
  /** Study whose tasks match; null for tasks that no study created. */
  readonly study?: string | null | undefined;
  /** Time of the request, in milliseconds since 1970; the second is excluded. */
  readonly requestedFromMs?: number | undefined;
  readonly requestedBeforeMs?: number | undefined;
}

/** Whether a task matches by what never changes. */
export function matchesForGood(task: Task, filter: TaskFilter): boolean {
  const { requestedAtMs, type, priority, study } = task;
  if (filter.type !== undefined && filter.type !== type) return false;
  if (filter.priority !== undefined && filter.priority !== priority) return false;
  if (filter.study !== undefined && filter.study !== (study?.id ?? null)) return false;
  if (filter.requestedFromMs !== undefined && requestedAtMs < filter.requestedFromMs) return false;
  if (filter.requestedBeforeMs !== undefined && requestedAtMs >= filter.requestedBeforeMs) return false;
  return SEARCHED_TEXTS.every(({ field }) => {
    const [pattern, text] = [filter[field], task[field]];
    if (pattern === undefined) return true;
    return text !== null && matchesWildcard(comparedText(field, pattern), comparedText(field, text));
  });
}

/** Whether a task matches by what changes. */
export function matchesNow({ status, instance }: Task, { statuses, instances = [] }: TaskFilter): boolean {
  if (statuses.length > 0 && !statuses.includes(status)) return false;
  return instances.length === 0 || (instance !== null && instances.includes(instance.id));
}

/** Whether the filter has a condition that a task may cease to match. */
export function canCease({ statuses, instances = [] }: TaskFilter): boolean {
  return statuses.length > 0 || instances.length > 0;
}

/** A text, or a pattern for it, as it is compared. */
export function comparedText(field: SearchedField, text: string): string {
  return SEARCHED_TEXTS.some((each) => each.field === field && each.hasCase) ? text : foldedName(text);
}

/** A name as names are compared, without regard to case. Both forms of the Greek sigma are the same letter. */
export function foldedName(name: string): string {
  return name.toLowerCase().replaceAll('ς', 'σ');
}
