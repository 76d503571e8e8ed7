/** Statements of lists. */
import { PRIORITIES } from '@workbench-hub/shared/domain/priority';
import type { TaskFilter } from '../../../core/task-filter.js';
import { STATUSES_BY_NUMBER } from '../../rows/task-kinds.js';
import type { SqliteDatabase } from '../connection/database.js';
import { TASK_COLUMNS } from '../rows/task-columns.js';
import { boundsOf, type Counts } from './chunks.js';
import { type Condition, conditionOf, PRIORITY, STATUS } from './filter-condition.js';

/** Groups in which the matches of a chunk are counted. */
export type Grouping = 'NONE' | 'BY_STATUS' | 'BY_PRIORITY';

const GROUPS: Readonly<Record<Grouping, { readonly sql: string; readonly count: number }>> = {
  NONE: { sql: '0', count: 1 },
  BY_STATUS: { sql: STATUS, count: STATUSES_BY_NUMBER.length },
  BY_PRIORITY: { sql: PRIORITY, count: PRIORITIES.length },
};

/** Bits of a count within the integer that has those of all groups: one more than the tasks of a chunk need. */
const BITS = 12;

const IN_CHUNK = 'seq BETWEEN ? AND ?';

/** Statements whose text is the same for all lists. */
export const LIST_STATEMENTS = {
  /** The first task from a `seq` on. */
  next: 'SELECT seq FROM listed_task WHERE seq >= ? ORDER BY seq LIMIT 1',
  /** Many rows are returned as one JSON text, which is read in a fifth of the time and passed to another thread in a third. */
  rows: `
    SELECT json_group_array(json_array(${TASK_COLUMNS})) FROM (SELECT value AS seq FROM json_each(?)) AS wanted
    CROSS JOIN task ON task.seq = wanted.seq JOIN requirement ON requirement.id = task.requirement_id`,
  byStart: `
    SELECT task.seq FROM json_each(?) AS wanted JOIN task ON task.seq = wanted.value
    ORDER BY started_at, task.seq LIMIT ? OFFSET ?`,
};

/** The text of the statement that counts the matches of a chunk. */
export function countStatement(condition: string, grouping: Grouping): string {
  const where = `FROM listed_task WHERE ${IN_CHUNK} AND ${condition}`;
  if (grouping === 'NONE') return `SELECT count(*) ${where}`;
  const { sql, count } = GROUPS[grouping];
  const columns = Array.from({ length: count }, (_, at) => `(packed >> ${BITS * at}) & ${2 ** BITS - 1}`);
  return `SELECT ${columns.join(', ')} FROM (SELECT coalesce(sum(1 << (${BITS} * (${sql}))), 0) AS packed ${where})`;
}

/** Matches of one filter. */
export interface Matches {
  /** Different for filters or groupings with different counts. */
  readonly name: string;
  /** Number of a chunk's matches in each group, as the rows that lists read have them. */
  count(chunk: number): Counts;
  /** `seq` of the tasks of a chunk that match now, ascending: in one group, or in all. */
  seqs(chunk: number, priorityRank?: number): number[];
}

export function matchesOf(db: SqliteDatabase, filter: TaskFilter, grouping: Grouping): Matches {
  const { sql, values } = conditionOf(filter);
  const count = db.prepare<unknown[], number[]>(countStatement(sql, grouping)).raw();
  // A row may be older than its task, which then may match no longer.
  const present = presentCondition(filter);
  const select = (ofGroup: string) =>
    db
      .prepare<unknown[], number>(
        `SELECT seq FROM (SELECT seq FROM listed_task WHERE ${IN_CHUNK} AND ${sql} ${ofGroup}) AS listed
         WHERE ${present.sql} ORDER BY seq`,
      )
      .pluck();
  const [all, ofPriority] = [select(''), select(`AND ${PRIORITY} = ?`)];
  return {
    name: JSON.stringify([grouping, sql, values]),
    count: (chunk) => count.get(...boundsOf(chunk), ...values) ?? [],
    seqs: (chunk, rank) =>
      rank === undefined
        ? all.all(...boundsOf(chunk), ...values, ...present.values)
        : ofPriority.all(...boundsOf(chunk), ...values, rank, ...present.values),
  };
}

/** The condition that a task, listed as `listed`, matches now by what can change. */
function presentCondition({ statuses, instances = [] }: TaskFilter): Condition {
  if (statuses.length === 0 && instances.length === 0) return { sql: 'true', values: [] };
  const isIn = (column: string, values: readonly string[]) =>
    values.length === 0 ? '' : `AND task.${column} IN (SELECT value FROM json_each(?))`;
  return {
    sql: `EXISTS (SELECT 1 FROM task WHERE task.seq = listed.seq ${isIn('status', statuses)} ${isIn('instance_id', instances)})`,
    values: [statuses, instances].filter((each) => each.length > 0).map((each) => JSON.stringify(each)),
  };
}
