/** Conditions of filters by texts, times and instances, on the narrow table of texts where that has all that is asked for. */
import { TASK_STATUSES, type TaskStatus } from '@workbench-hub/shared/domain/task';
import { comparedText, SEARCHED_TEXTS, type TaskFilter } from '../../../core/task-filter.js';
import { likePattern } from '../../rows/searchable-text.js';
import { kindsOf, STATUS_NUMBERS } from '../../rows/task-kinds.js';
import type { SqlType } from '../connection/statement.js';
import { numbersOf } from './by-kind.js';
import type { Parameters } from './list-statement.js';

/** Tasks that match a filter. */
export interface Matching extends Parameters {
  /** Table with the tasks that match, and columns of it. */
  readonly from: 'task_text' | 'task' | 'task_text JOIN task ON task.seq = task_text.task_seq';
  readonly seq: string;
  readonly priority: string;
  /** @param within Condition for all numbers of tasks, with `%` for the number. */
  where(within?: string): string;
}

interface Condition extends Parameters {
  /** @param within As that of {@link Matching.where}. */
  sql(within: string): string;
}

/** @param main The status that most tasks have. Few tasks have another one, so that these are looked for. */
export function matchingOf(filter: TaskFilter, main: TaskStatus): Matching {
  const onText = textConditions(filter);
  const { instances = [] } = filter;
  if (onText.length === 0) {
    const conditions = [...byInstance(instances), ...ofKind(filter)];
    return {
      from: 'task',
      seq: 'task.seq',
      priority: 'task.priority',
      ...together(conditions, ['task.seq']),
    };
  }
  if (instances.length > 0) {
    const conditions = [...onText, ...byInstance(instances), ...ofKind(filter)];
    return {
      from: 'task_text JOIN task ON task.seq = task_text.task_seq',
      seq: 'task_text.task_seq',
      priority: 'task.priority',
      ...together(conditions, ['task_text.task_seq', 'task.seq']),
    };
  }
  const conditions = [...onText, ...ofLastingKind(filter), ...ofStatus(filter, main)];
  return {
    from: 'task_text',
    seq: 'task_text.task_seq',
    priority: 'task_text.lasting_kind % 8',
    ...together(conditions, ['task_text.task_seq']),
  };
}

const OF_NO_STUDY: Condition = { types: {}, values: {}, sql: () => 'task_text.study_id IS NULL' };

function ofStudy({ study }: TaskFilter): Condition[] {
  if (study === undefined) return [];
  return [
    study === null ? OF_NO_STUDY : withParameter('study', 'text', study, () => 'task_text.study_id = :study'),
  ];
}

function withParameter(name: string, type: SqlType, value: unknown, sql: Condition['sql']): Condition {
  return { types: { [name]: type }, values: { [name]: value }, sql };
}

function together(
  conditions: readonly Condition[],
  seqs: readonly string[],
): Pick<Matching, 'where' | 'types' | 'values'> {
  return {
    where: (within = '') =>
      [
        ...(within === '' ? [] : seqs.map((seq) => within.replaceAll('%', seq))),
        ...conditions.map(({ sql }) => sql(within)),
      ].join(' AND '),
    types: Object.fromEntries(conditions.flatMap(({ types }) => Object.entries(types))),
    values: Object.fromEntries(conditions.flatMap(({ values }) => Object.entries(values))),
  };
}

function textConditions(filter: TaskFilter): Condition[] {
  const { requestedFromMs, requestedBeforeMs } = filter;
  const conditions: Condition[] = ofStudy(filter);
  const add = (parameter: string, type: SqlType, text: string, value: unknown) =>
    conditions.push(withParameter(parameter, type, value, () => text));
  for (const { field, isLong } of SEARCHED_TEXTS) {
    const pattern = filter[field];
    if (pattern === undefined) continue;
    if (field === 'id' && !/[*?]/.test(pattern)) {
      // An id without wildcards has an index.
      const one = 'task_text.task_seq = (SELECT task_seq FROM task_request WHERE task_request.id = :taskId)';
      add('taskId', 'text', one, pattern);
    } else {
      const value = likePattern(comparedText(field, pattern));
      const table = `task_${isLong ? field : 'text'}`;
      const matches = `${table}.${field} LIKE :${field}Pattern`;
      const sql = isLong
        ? `EXISTS (SELECT FROM ${table} WHERE ${table}.task_seq = task_text.task_seq AND ${matches})`
        : matches;
      add(`${field}Pattern`, 'text', sql, value);
    }
  }
  if (requestedFromMs !== undefined) {
    add('requestedFrom', 'bigint', 'task_text.requested_at >= :requestedFrom', requestedFromMs);
  }
  if (requestedBeforeMs !== undefined) {
    add('requestedBefore', 'bigint', 'task_text.requested_at < :requestedBefore', requestedBeforeMs);
  }
  return conditions;
}

function byInstance(instances: readonly string[]): Condition[] {
  if (instances.length === 0) return [];
  const sql = () => 'task.instance_id = ANY (:instanceIds)';
  return [withParameter('instanceIds', 'text[]', instances, sql)];
}

/** Type, status and priority, by the table of tasks. */
function ofKind(filter: TaskFilter): Condition[] {
  const { type, priority, statuses } = filter;
  if (type === undefined && priority === undefined && statuses.length === 0) return [];
  // A window has both conditions: the one for its tasks, and the one for its numbers, of any status.
  const parameter = statuses.length === 0 ? 'kindsOfAnyStatus' : 'kinds';
  return [kindCondition(parameter, numbersOf(kindsOf(filter)), () => `task.kind = ANY (:${parameter})`)];
}

function kindCondition(parameter: string, value: readonly number[], sql: Condition['sql']): Condition {
  return withParameter(parameter, 'smallint[]', value, sql);
}

/** Type and priority, which never change. */
function ofLastingKind({ type, priority }: TaskFilter): Condition[] {
  if (type === undefined && priority === undefined) return [];
  const lasting = numbersOf(kindsOf({ type, priority, statuses: ['WAITING'] }));
  return [kindCondition('lastingKinds', lasting, () => 'task_text.lasting_kind = ANY (:lastingKinds)')];
}

/** Tasks of the wanted statuses, or, if the main one is among them, all but those of the others. */
function ofStatus(filter: TaskFilter, main: TaskStatus): Condition[] {
  const { statuses } = filter;
  if (statuses.length === 0) return [];
  const isWanted = (status: TaskStatus) => statuses.includes(status);
  const others = TASK_STATUSES.filter((status) => !isWanted(status));
  const [looked, not] = isWanted(main) ? [others, 'NOT '] : [statuses, ''];
  if (looked.length === 0) return [];
  return [
    kindCondition('kinds', numbersOf(kindsOf({ ...filter, statuses: looked })), (within) => {
      const near = within === '' ? '' : `AND ${within.replaceAll('%', 'task.seq')}`;
      return `${not}EXISTS (
        SELECT FROM task WHERE task.seq = task_text.task_seq AND task.kind = ANY (:kinds) ${near})`;
    }),
  ];
}

/** Status of each match as a number. */
export interface StatusOfMatch extends Parameters {
  /** Joins of the table of the matches. */
  readonly join: string;
  readonly value: string;
}

export function statusOf({ from }: Matching, filter: TaskFilter, main: TaskStatus): StatusOfMatch {
  if (from !== 'task_text') return { join: '', value: '(task.kind / 8) % 8', types: {}, values: {} };
  const others = TASK_STATUSES.filter((status) => status !== main);
  return {
    join: 'LEFT JOIN task AS other ON other.seq = task_text.task_seq AND other.kind = ANY (:otherKinds)',
    value: `coalesce((other.kind / 8) % 8, ${STATUS_NUMBERS[main]})`,
    types: { otherKinds: 'smallint[]' },
    values: { otherKinds: numbersOf(kindsOf({ ...filter, statuses: others })) },
  };
}
