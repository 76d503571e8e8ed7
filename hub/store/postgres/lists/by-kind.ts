/** Lists by type, status and priority: each kind of tasks is in the order of an index, of which only the entries up to the page are
 *  read, from the nearer end. Totals are kept. */
import type { TaskOrder } from '../../../core/ports/task-archive.js';
import type { TaskFilter } from '../../../core/task-filter.js';
import { ALL_KINDS, kindsOf, type TaskKind } from '../../rows/task-kinds.js';
import {
  COLUMNS,
  type ListedTasks,
  ORDERED_BACKWARDS,
  ORDERED_BY,
  type Parameters,
  TOTAL,
  type WindowTasks,
} from './list-statement.js';

/** Whether a filter is one by kinds only. */
export function isByKind(filter: TaskFilter): boolean {
  const { type: _type, priority: _priority, statuses: _statuses, instances = [], ...others } = filter;
  return instances.length === 0 && Object.values(others).every((condition) => condition === undefined);
}

export function numbersOf(kinds: readonly TaskKind[]): number[] {
  return kinds.map(({ kind }) => kind);
}

/** Tasks of a page that is counted from the beginning of the list, or from its end. */
export function byKind(filter: TaskFilter, order: TaskOrder, fromEnd: boolean): ListedTasks {
  const kinds = kindsOf(filter);
  const source = sourceOf(kinds, order, fromEnd);
  const by = (fromEnd ? ORDERED_BACKWARDS : ORDERED_BY)[order];
  const { skipped, taken } = placesOf(fromEnd);
  return {
    parts: `counted AS (${TOTAL})`,
    // The outer limit tells the server how few rows there are.
    page: `
      SELECT * FROM (
        SELECT ${COLUMNS[order].join(', ')} FROM (${source.text}) AS found ORDER BY ${by} OFFSET ${skipped} LIMIT ${taken}) AS taken
      LIMIT :size`,
    types: { kinds: 'smallint[]', ...source.types },
    values: { kinds: numbersOf(kinds), ...source.values },
  };
}

/** Numbers of tasks before the page and on it, in the direction in which the list is read. */
function placesOf(fromEnd: boolean): { readonly skipped: string; readonly taken: string } {
  if (!fromEnd) return { skipped: ':offset', taken: ':size' };
  const total = '(SELECT total FROM counted)';
  return {
    skipped: `greatest(${total} - :offset - :size, 0)`,
    taken: `greatest(least(:size, ${total} - :offset), 0)`,
  };
}

interface Source extends Parameters {
  readonly text: string;
}

function sourceOf(kinds: readonly TaskKind[], order: TaskOrder, fromEnd: boolean): Source {
  if (order === 'LONGEST_RUNNING_FIRST') {
    return { text: 'SELECT seq, started_at FROM task WHERE kind = ANY (:kinds)', types: {}, values: {} };
  }
  if (order === 'NEWEST_FIRST') {
    if (kinds.length === ALL_KINDS.length) return { text: 'SELECT seq FROM task', types: {}, values: {} };
    return branchesOf(kinds, { order: fromEnd ? 'seq' : 'seq DESC' });
  }
  const { skipped, taken } = placesOf(fromEnd);
  return branchesOf(kinds, {
    order: fromEnd ? 'seq DESC' : 'seq',
    limit: `LIMIT (${skipped} + ${taken})`,
  });
}

interface BranchOptions {
  readonly order: string;
  readonly condition?: string;
  readonly limit?: string;
}

/** One branch for each kind: their union is merged in the order of `seq`. */
function branchesOf(
  kinds: readonly TaskKind[],
  { order, condition = '', limit = '' }: BranchOptions,
): Source {
  const text = kinds
    .map(
      ({ priorityRank }, at) =>
        `(SELECT seq, ${priorityRank} AS priority FROM task WHERE kind = :kind${at} ${condition} ORDER BY ${order} ${limit})`,
    )
    .join(' UNION ALL ');
  const types = Object.fromEntries(kinds.map((_, at) => [`kind${at}`, 'smallint' as const]));
  return { text, types, values: Object.fromEntries(kinds.map(({ kind }, at) => [`kind${at}`, kind])) };
}

/** Tasks of a window, one more than its size. */
export function windowByKind(filter: TaskFilter): WindowTasks {
  const branches = branchesOf(kindsOf(filter), {
    order: 'seq DESC',
    condition: 'AND seq < :below',
    limit: 'LIMIT :size',
  });
  return {
    parts: `page AS (SELECT seq FROM (${branches.text}) AS found ORDER BY seq DESC LIMIT :size)`,
    counts: `
      SELECT (kind / 8) % 8 AS status, sum(tasks)::bigint AS tasks FROM task_count WHERE kind = ANY (:countedKinds) GROUP BY 1`,
    types: { ...branches.types, countedKinds: 'smallint[]' },
    values: { ...branches.values, countedKinds: numbersOf(kindsOf({ ...filter, statuses: [] })) },
  };
}
