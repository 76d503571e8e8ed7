/** Kinds of tasks: type, status and priority as one number, as the column `kind` has it. */
import { PRIORITIES, type Priority, priorityRank } from '@workbench-hub/shared/domain/priority';
import {
  ENDED_STATUSES,
  TASK_STATUSES,
  TASK_TYPES,
  type TaskStatus,
  type TaskType,
} from '@workbench-hub/shared/domain/task';
import type { TaskFilter } from '../../core/task-filter.js';

/** As in the migrations. */
export const STATUS_NUMBERS: Readonly<Record<TaskStatus, number>> = {
  WAITING: 0,
  RUNNING: 1,
  FINISHED: 2,
  FAILED: 3,
  CANCELED: 4,
};
export const TYPE_NUMBERS: Readonly<Record<TaskType, number>> = { SIMULATE_WORK: 0, EXECUTE_BATCH_JOB: 1 };

/** Statuses in the order of their numbers. */
export const STATUSES_BY_NUMBER: readonly TaskStatus[] = TASK_STATUSES.toSorted(
  (a, b) => STATUS_NUMBERS[a] - STATUS_NUMBERS[b],
);

export const ENDED_NUMBERS: readonly number[] = ENDED_STATUSES.map((status) => STATUS_NUMBERS[status]);

export interface TaskKind {
  readonly kind: number;
  readonly status: TaskStatus;
  readonly priorityRank: number;
}

export const ALL_KINDS: readonly TaskKind[] = kindsOf({ statuses: [] });

/** The kinds that match a filter by type, priority and status. */
export function kindsOf({
  type,
  priority,
  statuses,
}: Pick<TaskFilter, 'type' | 'priority' | 'statuses'>): readonly TaskKind[] {
  const types = type === undefined ? TASK_TYPES : [type];
  const wanted = statuses.length === 0 ? TASK_STATUSES : statuses;
  const ranks = (priority === undefined ? PRIORITIES : [priority]).map(priorityRank);
  return types.flatMap((each) =>
    [...new Set(wanted)].flatMap((status) =>
      ranks.map((rank) => ({
        kind: rank + 8 * STATUS_NUMBERS[status] + 64 * TYPE_NUMBERS[each],
        status,
        priorityRank: rank,
      })),
    ),
  );
}

/** The part of the kind of a task that never changes: the kind that it has while it waits. */
export function lastingKindOf(type: TaskType, priority: Priority): number {
  return priorityRank(priority) + 64 * TYPE_NUMBERS[type];
}
