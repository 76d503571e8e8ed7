/** Conditions of filters by texts, times and instances, on the narrow table of texts where that has all that is asked for. */
import { foldedName, type TaskFilter } from '../../../core/task-filter.js';
import { likePattern } from '../searchable-text.js';
import type { SqlType } from '../statement.js';
import { numbersOf } from './by-kind.js';
import type { Parameters } from './list-statement.js';
import { ALL_KINDS, kindsOf } from './task-kinds.js';

/** Tables with the tasks that match. */
export interface Matching extends Parameters {
  readonly from: string;
  /** Number of the task, whose buckets have statistics. */
  readonly seq: string;
  /** Tables of which the number of the task has to be limited for a part of the tasks. */
  readonly seqs: readonly string[];
  readonly where: string;
}

type Condition = readonly [parameter: string, type: SqlType, sql: string, value: unknown];

/** @param needsTask Whether columns of `task` are read. */
export function matchingOf(filter: TaskFilter, needsTask: boolean): Matching {
  const onText = textConditions(filter);
  const onTask = taskConditions(filter);
  const conditions = [...onText, ...onTask];
  const tables = {
    ...(onText.length > 0 ? { text: 'task_text.task_seq' } : {}),
    ...(onTask.length > 0 || needsTask || onText.length === 0 ? { task: 'task.seq' } : {}),
  };
  const seqs = Object.values(tables);
  return {
    from:
      seqs.length === 2
        ? 'task_text JOIN task ON task.seq = task_text.task_seq'
        : tables.text === undefined
          ? 'task'
          : 'task_text',
    seq: seqs[0] ?? 'task.seq',
    seqs,
    where: conditions.map(([, , condition]) => condition).join(' AND ') || 'true',
    types: Object.fromEntries(conditions.map(([parameter, type]) => [parameter, type])),
    values: Object.fromEntries(conditions.map(([parameter, , , value]) => [parameter, value])),
  };
}

function textConditions({ id, name, creator, requestedFromMs, requestedBeforeMs }: TaskFilter): Condition[] {
  const conditions: Condition[] = [];
  if (id !== undefined) conditions.push(idCondition(id));
  if (name !== undefined) {
    const pattern = likePattern(foldedName(name));
    conditions.push(['namePattern', 'text', 'task_text.name LIKE :namePattern', pattern]);
  }
  if (creator !== undefined) {
    const pattern = likePattern(creator);
    conditions.push(['creatorPattern', 'text', 'task_text.creator LIKE :creatorPattern', pattern]);
  }
  if (requestedFromMs !== undefined) {
    conditions.push(['requestedFrom', 'bigint', 'task_text.requested_at >= :requestedFrom', requestedFromMs]);
  }
  if (requestedBeforeMs !== undefined) {
    const condition = 'task_text.requested_at < :requestedBefore';
    conditions.push(['requestedBefore', 'bigint', condition, requestedBeforeMs]);
  }
  return conditions;
}

/** An id without wildcards has an index. */
function idCondition(id: string): Condition {
  if (/[*?]/.test(id)) return ['idPattern', 'text', 'task_text.id LIKE :idPattern', likePattern(id)];
  const one = 'task_text.task_seq = (SELECT task_seq FROM task_request WHERE task_request.id = :taskId)';
  return ['taskId', 'text', one, id];
}

function taskConditions(filter: TaskFilter): Condition[] {
  const { instances = [] } = filter;
  const kinds = kindsOf(filter);
  const byInstance: Condition = ['instanceIds', 'text[]', 'task.instance_id = ANY (:instanceIds)', instances];
  const ofKind: Condition = ['kinds', 'smallint[]', 'task.kind = ANY (:kinds)', numbersOf(kinds)];
  return [
    ...(instances.length > 0 ? [byInstance] : []),
    ...(kinds.length < ALL_KINDS.length ? [ofKind] : []),
  ];
}
