/** Statements of lists. Each reads its page and its total from one moment. */
import type { TaskStatus } from '@workbench-hub/shared/domain/task';
import type { TaskOrder } from '../../../core/ports/task-archive.js';
import type { TaskFilter } from '../../../core/task-filter.js';
import { byKind, isByKind, windowByKind } from './by-kind.js';
import { byScan, windowByScan } from './by-scan.js';
import { type ListStatement, type PagePlaces, pageStatement, windowStatement } from './list-statement.js';

/** Known numbers of tasks, by which a list is read the shorter way: outdated ones do no harm. */
export interface ListHints {
  /** Whether the end of a list by kinds is nearer to the page than its beginning. */
  readonly isNearerToEnd: boolean;
  /** The status that most tasks have. */
  readonly mainStatus: TaskStatus;
}

/** Page of a list; the result is a row with `total` and `tasks`. */
export function pageOf(
  filter: TaskFilter,
  order: TaskOrder,
  places: PagePlaces,
  { isNearerToEnd, mainStatus }: ListHints,
): ListStatement {
  const tasks = isByKind(filter) ? byKind(filter, order, isNearerToEnd) : byScan(filter, order, mainStatus);
  return pageStatement(tasks, order, places);
}

/** Tasks below a `seq`, newest first, one more than the size; the result is a row with `tasks`, `seqs` and `counts` by status. */
export function windowOf(
  filter: TaskFilter,
  below: number,
  size: number,
  { mainStatus }: Pick<ListHints, 'mainStatus'>,
): ListStatement {
  const tasks = isByKind(filter) ? windowByKind(filter) : windowByScan(filter, mainStatus);
  return windowStatement(tasks, below, size + 1);
}
