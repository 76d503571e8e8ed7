/** Statements of lists. Each reads its page and its total from one moment. */
import type { TaskOrder } from '../../../core/ports/task-archive.js';
import type { TaskFilter } from '../../../core/task-filter.js';
import { byKind, isByKind, windowByKind } from './by-kind.js';
import { byScan, windowByScan } from './by-scan.js';
import { type ListStatement, type PagePlaces, pageStatement, windowStatement } from './list-statement.js';

/** Page of a list; the result is a row with `total` and `tasks`. `fromEnd`: whether the end of the list is nearer to it than the
 *  beginning. */
export function pageOf(
  filter: TaskFilter,
  order: TaskOrder,
  places: PagePlaces,
  fromEnd = false,
): ListStatement {
  const tasks = isByKind(filter) ? byKind(filter, order, fromEnd) : byScan(filter, order);
  return pageStatement(tasks, order, places);
}

/** Tasks below a `seq`, newest first, one more than the size; the result is a row with `tasks`, `seqs` and `counts` by status. */
export function windowOf(filter: TaskFilter, below: number, size: number): ListStatement {
  const tasks = isByKind(filter) ? windowByKind(filter) : windowByScan(filter);
  return windowStatement(tasks, below, size + 1);
}
