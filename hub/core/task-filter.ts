/** Filters of tasks, applied to one task; the store applies the same to its lists. */
import type { Priority } from '@workbench-hub/shared/domain/priority';
import type { TaskStatus, TaskType } from '@workbench-hub/shared/domain/task';
import { matchesWildcard } from '@workbench-hub/shared/domain/wildcard';
import type { Task } from './task.js';

export interface TaskFilter {
  /** `id`, `name` and `creator` may hold wildcards; `name` is compared without regard to case. */
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly creator?: string | undefined;
  readonly type?: TaskType | undefined;
  readonly priority?: Priority | undefined;
  /** Any of these statuses; empty for all. */
  readonly statuses: readonly TaskStatus[];
  /** Any of these instances runs it, or has run it last; empty or undefined for all. */
  readonly instances?: readonly string[] | undefined;
  /** Time of the request, in milliseconds since 1970; the second is excluded. */
  readonly requestedFromMs?: number | undefined;
  readonly requestedBeforeMs?: number | undefined;
}

/** Whether a task matches by what never changes. */
export function matchesForGood(
  { id, name, creator, requestedAtMs, type, priority }: Task,
  filter: TaskFilter,
): boolean {
  if (filter.type !== undefined && filter.type !== type) return false;
  if (filter.priority !== undefined && filter.priority !== priority) return false;
  if (filter.requestedFromMs !== undefined && requestedAtMs < filter.requestedFromMs) return false;
  if (filter.requestedBeforeMs !== undefined && requestedAtMs >= filter.requestedBeforeMs) return false;
  if (filter.id !== undefined && !matchesWildcard(filter.id, id)) return false;
  if (filter.creator !== undefined && (creator === null || !matchesWildcard(filter.creator, creator)))
    return false;
  return (
    filter.name === undefined || (name !== null && matchesWildcard(foldedName(filter.name), foldedName(name)))
  );
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

/** A name as names are compared, without regard to case. Both forms of the Greek sigma are the same letter. */
export function foldedName(name: string): string {
  return name.toLowerCase().replaceAll('ς', 'σ');
}
