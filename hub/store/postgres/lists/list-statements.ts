/** Statements of lists. Each reads its page and its total from one moment. */
import type { TaskOrder } from '../../../core/ports/task-archive.js';
import { foldedName, type TaskFilter } from '../../../core/task-filter.js';
import { likePattern } from '../searchable-text.js';
import { type NamedStatement, type SqlType, sql } from '../statement.js';
import { TASK_JOINS, TASK_JSON } from '../task-row.js';
import { ALL_KINDS, kindsOf, type TaskKind } from './task-kinds.js';

/** A statement with its values. */
export interface ListStatement {
  readonly statement: NamedStatement;
  readonly values: Readonly<Record<string, unknown>>;
}

/** Numbers of tasks before a page, and on it. */
export interface PagePlaces {
  readonly offset: number;
  readonly size: number;
}

/** Statements that were built, by their SQL, so that each is named once. */
const built = new Map<string, NamedStatement>();

function statementOf(types: Readonly<Record<string, SqlType>>, text: string): NamedStatement {
  const known = built.get(text);
  if (known) return known;
  const statement = sql(types, text);
  built.set(text, statement);
  return statement;
}

const ORDERS: Readonly<Record<TaskOrder, string>> = {
  NEWEST_FIRST: 'seq DESC',
  NEXT_TO_RUN_FIRST: 'priority, seq',
  LONGEST_RUNNING_FIRST: 'started_at NULLS FIRST, seq',
};

/** Columns of found tasks, as far as the order needs them: indexes have the others. */
const COLUMNS: Readonly<Record<TaskOrder, string>> = {
  NEWEST_FIRST: 'seq',
  NEXT_TO_RUN_FIRST: 'seq, priority',
  LONGEST_RUNNING_FIRST: 'seq, started_at',
};

/** Number of tasks of some kinds. */
const TOTAL = 'SELECT coalesce(sum(tasks), 0)::bigint AS total FROM task_count WHERE kind = ANY (:kinds)';

/** Whether a filter is one by kinds only. */
function isByKind({ id, name, creator, instances = [], requestedFromMs, requestedBeforeMs }: TaskFilter) {
  const others = [id, name, creator, requestedFromMs, requestedBeforeMs];
  return instances.length === 0 && others.every((condition) => condition === undefined);
}

/** Page of a list; the result is a row with `total` and `tasks`. */
export function pageOf(filter: TaskFilter, order: TaskOrder, places: PagePlaces): ListStatement {
  const source = isByKind(filter) ? byKind(filter, order) : byFilter(filter, order);
  const by = ORDERS[order];
  const text = `
    WITH ${source.parts},
    page AS (SELECT ${COLUMNS[order]} FROM ${source.tasks} AS found ORDER BY ${by} OFFSET :offset LIMIT :size),
    placed AS (SELECT seq, row_number() OVER (ORDER BY ${by}) AS at FROM page)
    SELECT counted.total, (
      SELECT json_agg(${TASK_JSON} ORDER BY placed.at)
      FROM placed JOIN task ON task.seq = placed.seq ${TASK_JOINS}) AS tasks
    FROM counted`;
  return {
    statement: statementOf({ ...source.types, offset: 'bigint', size: 'bigint' }, text),
    values: { ...source.values, offset: places.offset, size: places.size },
  };
}

/** Tasks below a `seq`, newest first, one more than the size; the result is a row with `tasks`, `seqs` and `counts` by status. */
export function windowOf(filter: TaskFilter, below: number, size: number): ListStatement {
  const ofAnyStatus = { ...filter, statuses: [] };
  const wanted = filter.statuses;
  const types: Record<string, SqlType> = { below: 'bigint', size: 'bigint' };
  let parts: string;
  let counts: string;
  let values: Readonly<Record<string, unknown>>;
  if (isByKind(filter)) {
    const kinds = kindsOf(filter);
    const branches = branchesOf(kinds, {
      order: 'seq DESC',
      condition: 'AND seq < :below',
      limit: 'LIMIT :size',
    });
    parts = `page AS (SELECT seq FROM (${branches.text}) AS found ORDER BY seq DESC LIMIT :size)`;
    counts = `
      SELECT (kind / 8) % 8 AS status, sum(tasks)::bigint AS tasks FROM task_count WHERE kind = ANY (:countedKinds) GROUP BY 1`;
    Object.assign(types, branches.types, { countedKinds: 'smallint[]' });
    values = { ...branches.values, countedKinds: numbersOf(kindsOf(ofAnyStatus)) };
  } else {
    const source = byFilter(ofAnyStatus, 'BY_STATUS');
    const isWanted = wanted.length === 0 ? '' : 'AND task.status = ANY (:statuses)';
    parts = `${source.parts},
      page AS (SELECT task.seq FROM matching AS task WHERE task.seq < :below ${isWanted} ORDER BY task.seq DESC LIMIT :size)`;
    counts = 'SELECT (kind / 8) % 8 AS status, count(*) AS tasks FROM matching GROUP BY 1';
    Object.assign(types, source.types, wanted.length === 0 ? {} : { statuses: 'text[]' });
    values = { ...source.values, ...(wanted.length === 0 ? {} : { statuses: wanted }) };
  }
  const text = `
    WITH ${parts}
    SELECT (SELECT json_agg(page.seq ORDER BY page.seq DESC) FROM page) AS seqs,
      (SELECT json_agg(${TASK_JSON} ORDER BY page.seq DESC) FROM page JOIN task ON task.seq = page.seq ${TASK_JOINS}) AS tasks,
      (SELECT json_agg(json_build_array(status, tasks)) FROM (${counts}) AS each) AS counts`;
  return { statement: statementOf(types, text), values: { ...values, below, size: size + 1 } };
}

interface Source {
  /** Common table expressions, `counted` with the `total` among them. */
  readonly parts: string;
  /** Rows with the columns of the order. */
  readonly tasks: string;
  readonly types: Readonly<Record<string, SqlType>>;
  readonly values: Readonly<Record<string, unknown>>;
}

/** Tasks by kind, each from the index in its order: only the entries up to the end of the page are read. */
function byKind(filter: TaskFilter, order: TaskOrder): Source {
  const kinds = kindsOf(filter);
  const values = { kinds: numbersOf(kinds) };
  const types = { kinds: 'smallint[]' } as const;
  const parts = `counted AS (${TOTAL})`;
  if (order === 'LONGEST_RUNNING_FIRST') {
    return { parts, tasks: '(SELECT seq, started_at FROM task WHERE kind = ANY (:kinds))', types, values };
  }
  if (order === 'NEWEST_FIRST' && kinds.length === ALL_KINDS.length) {
    return { parts, tasks: '(SELECT seq FROM task)', types, values };
  }
  const branches =
    order === 'NEWEST_FIRST'
      ? branchesOf(kinds, { order: 'seq DESC' })
      : branchesOf(kinds, { order: 'seq', limit: 'LIMIT (:offset + :size)' });
  return {
    parts,
    tasks: `(${branches.text})`,
    types: { ...types, ...branches.types },
    values: { ...values, ...branches.values },
  };
}

interface BranchOptions {
  readonly order: string;
  readonly condition?: string;
  readonly limit?: string;
}

/** One branch for each kind: their union is merged in the order of `seq`. */
function branchesOf(kinds: readonly TaskKind[], { order, condition = '', limit = '' }: BranchOptions) {
  const text = kinds
    .map(
      ({ priorityRank }, at) =>
        `(SELECT seq, ${priorityRank} AS priority FROM task WHERE kind = :kind${at} ${condition} ORDER BY ${order} ${limit})`,
    )
    .join(' UNION ALL ');
  const types = Object.fromEntries(kinds.map((_, at) => [`kind${at}`, 'smallint' as const]));
  return { text, types, values: Object.fromEntries(kinds.map(({ kind }, at) => [`kind${at}`, kind])) };
}

/** Tasks by texts, times and instances: a scan, of the narrow table where that has all that is asked for. */
function byFilter(filter: TaskFilter, order: TaskOrder | 'BY_STATUS'): Source {
  const { id, name, creator, instances = [], requestedFromMs, requestedBeforeMs } = filter;
  const kinds = kindsOf(filter);
  const conditions: [name: string, type: SqlType, sql: string, value: unknown][] = [];
  const add = (parameter: string, type: SqlType, condition: string, value: unknown) => {
    if (value !== undefined) conditions.push([parameter, type, condition, value]);
  };
  add('idPattern', 'text', 'task_text.id LIKE :idPattern', id === undefined ? id : likePattern(id));
  const folded = name === undefined ? name : likePattern(foldedName(name));
  add('namePattern', 'text', 'task_text.name LIKE :namePattern', folded);
  add('creatorPattern', 'text', 'task_text.creator LIKE :creatorPattern', creator && likePattern(creator));
  add('requestedFrom', 'bigint', 'task_text.requested_at >= :requestedFrom', requestedFromMs);
  add('requestedBefore', 'bigint', 'task_text.requested_at < :requestedBefore', requestedBeforeMs);
  if (instances.length > 0) add('instanceIds', 'text[]', 'task.instance_id = ANY (:instanceIds)', instances);
  if (kinds.length < ALL_KINDS.length)
    add('kinds', 'smallint[]', 'task.kind = ANY (:kinds)', numbersOf(kinds));
  const needsTask =
    order !== 'NEWEST_FIRST' || conditions.some(([, , condition]) => condition.startsWith('task.'));
  const columns = needsTask ? ', task.priority, task.started_at, task.status, task.kind' : '';
  return {
    parts: `
      matching AS MATERIALIZED (
        SELECT task_text.task_seq AS seq${columns}
        FROM task_text ${needsTask ? 'JOIN task ON task.seq = task_text.task_seq' : ''}
        WHERE ${conditions.map(([, , condition]) => condition).join(' AND ')}),
      counted AS (SELECT count(*) AS total FROM matching)`,
    tasks: 'matching',
    types: Object.fromEntries(conditions.map(([parameter, type]) => [parameter, type])),
    values: Object.fromEntries(conditions.map(([parameter, , , value]) => [parameter, value])),
  };
}

function numbersOf(kinds: readonly TaskKind[]): number[] {
  return kinds.map(({ kind }) => kind);
}
