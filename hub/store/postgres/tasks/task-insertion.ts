import { requirementKey } from '@workbench-hub/shared/domain/classifier';
import { filesOfJob } from '@workbench-hub/shared/domain/job';
import { priorityRank } from '@workbench-hub/shared/domain/priority';
import type { WaitingTask } from '../../../core/match-tasks.js';
import type { NewTask } from '../../../core/task.js';
import { REQUEST_COLUMNS } from '../../rows/task-fields.js';
import { type LaneWrite, laneStatement } from '../lanes/lane-statements.js';
import { addFiles, FILE_PARAMETERS, fileValues } from '../objects/file-references.js';
import { LONG_TEXT_COLUMNS, TASK_TEXT_COLUMNS } from '../rows/task-text.js';
import type { RequirementIds } from './requirement-ids.js';

/** Tasks that are inserted together or not at all. */
export interface Insertion {
  readonly tasks: readonly NewTask[];
  /** Their jobs as JSON. */
  readonly jobs: readonly string[];
  /** Key of the creator, by which a repeated insertion of one task is recognized. */
  readonly key?: string;
}

export interface Inserted {
  readonly waiting: readonly WaitingTask[];
  /** Ids of the tasks, or of that which was inserted with the key before. */
  readonly taskIds: readonly string[];
}

/** A column of the input. Its values come from the tasks, or, without `valueIn`, from the calls. */
interface InputColumn {
  readonly name: string;
  readonly type: 'text' | 'bigint' | 'smallint';
  readonly valueIn?: (task: NewTask) => string | number | null;
}

/** Columns of searched texts in the input, where the request has others of the same names. */
const textColumn = (column: string) => `searched_${column}`;

const INPUT: readonly InputColumn[] = [
  { name: 'type', type: 'text', valueIn: ({ type }) => type },
  { name: 'status', type: 'text', valueIn: ({ status }) => status },
  { name: 'priority', type: 'smallint', valueIn: ({ priority }) => priorityRank(priority) },
  { name: 'notify_url', type: 'text', valueIn: ({ notify }) => notify?.url ?? null },
  { name: 'notify_receiver', type: 'text', valueIn: ({ notify }) => notify?.receiver ?? null },
  ...REQUEST_COLUMNS.map(({ column, ...rest }) => ({ name: column, ...rest })),
  ...[...TASK_TEXT_COLUMNS, ...LONG_TEXT_COLUMNS].map(({ column, ...rest }) => ({
    name: textColumn(column),
    ...rest,
  })),
  { name: 'requirement_id', type: 'bigint' },
  { name: 'job', type: 'text' },
  { name: 'key', type: 'text' },
];

const namesOf = (columns: readonly { readonly column: string }[]) =>
  columns.map(({ column }) => column).join(', ');

const INSERT = laneStatement<string>({
  parameters: {
    ...Object.fromEntries(INPUT.map(({ name, type }) => [name, `${type}[]` as const])),
    ...FILE_PARAMETERS,
  },
  parts: `
    input AS (
      SELECT given.* FROM held, unnest(${INPUT.map(({ name }) => `:${name}`).join(', ')})
        WITH ORDINALITY AS given (${INPUT.map(({ name }) => name).join(', ')}, at)),
    known AS (
      SELECT input.at, coalesce(idempotency_key.task_id, task_request.id) AS id FROM input
      JOIN idempotency_key ON idempotency_key.creator = coalesce(input.creator, '') AND idempotency_key.key = input.key
      LEFT JOIN task_request ON task_request.task_seq = idempotency_key.task_seq AND idempotency_key.task_id IS NULL),
    added AS MATERIALIZED (
      SELECT nextval('task_seq') AS seq, new.* FROM (
        SELECT * FROM input WHERE NOT EXISTS (SELECT FROM known WHERE known.at = input.at) ORDER BY at) AS new),
    tasks AS (
      INSERT INTO task (seq, type, status, priority, requirement_id)
      SELECT seq, type, status, priority, requirement_id FROM added),
    requests AS (
      INSERT INTO task_request (task_seq, requirement_id, job, ${namesOf(REQUEST_COLUMNS)})
      SELECT seq, requirement_id, job, ${namesOf(REQUEST_COLUMNS)} FROM added),
    texts AS (
      INSERT INTO task_text (task_seq, requested_at, ${namesOf(TASK_TEXT_COLUMNS)})
      SELECT seq, requested_at, ${TASK_TEXT_COLUMNS.map(({ column }) => textColumn(column)).join(', ')} FROM added),
    ${LONG_TEXT_COLUMNS.map(
      ({ column }) => `of_${column} AS (
      INSERT INTO task_${column} (task_seq, ${column})
      SELECT seq, ${textColumn(column)} FROM added WHERE ${textColumn(column)} IS NOT NULL),`,
    ).join('')}
    loans AS (INSERT INTO open_loan (task_seq) SELECT seq FROM added WHERE loan IS NOT NULL),
    files AS (${addFiles('added')}),
    keys AS (
      INSERT INTO idempotency_key (creator, key, task_seq, task_id, used_at)
      SELECT coalesce(creator, ''), key, seq, id, requested_at FROM added WHERE key IS NOT NULL),
    addresses AS (
      INSERT INTO task_notify (task_seq, url, receiver)
      SELECT seq, notify_url, notify_receiver FROM added WHERE notify_url IS NOT NULL)`,
  changes: 'SELECT to_json(seq) FROM added',
  outcome: `SELECT json_agg(coalesce(to_json(known.id), json_build_array(added.seq, added.requirement_id)) ORDER BY input.at)
    FROM input LEFT JOIN known ON known.at = input.at LEFT JOIN added ON added.at = input.at`,
});

/** Inserts tasks into the queue. */
export function taskInsertion(requirements: RequirementIds): LaneWrite<Insertion, Inserted> {
  return {
    statement: INSERT,
    isDurable: true,
    keys: ({ tasks, key }) => [
      ...tasks.map(({ id }) => `task ${id}`),
      ...(key === undefined ? [] : [`key ${JSON.stringify([tasks[0]?.creator ?? '', key])}`]),
    ],
    weight: ({ jobs }) => jobs.reduce((sum, job) => sum + job.length, 0),
    values: async (insertions) => {
      const keyOf = insertions.flatMap(({ tasks, key }) => tasks.map(() => key ?? null));
      const tasks = insertions.flatMap((insertion) => insertion.tasks);
      const requirementKeys = tasks.map(({ requirement }) => requirementKey(requirement));
      const groups = await requirements.of(requirementKeys);
      return {
        ...valuesOfTasks(tasks),
        requirement_id: requirementKeys.map((key) => groups.get(key)),
        job: insertions.flatMap(({ jobs }) => jobs),
        key: keyOf,
      };
    },
    // Another hub may have removed a requirement whose id is cached.
    conflicted: () => requirements.forget(),
    results: (insertions, outcome) => {
      const results = (outcome ?? []) as readonly Result[];
      let at = 0;
      return insertions.map(({ tasks }) => {
        const own = results.slice(at, at + tasks.length);
        at += tasks.length;
        return insertedOf(tasks, own);
      });
    },
  };
}

/** Id of the task that was inserted with the key before, or place of the new one. */
type Result = string | readonly [seq: number, requirementId: number];

function insertedOf(tasks: readonly NewTask[], results: readonly Result[]): Inserted {
  const waiting = tasks.flatMap(({ id, requirement, priority, timeLimitS }, at): WaitingTask[] => {
    const result = results[at];
    if (result === undefined || typeof result === 'string') return [];
    const [sequence, groupId] = result;
    const key = requirementKey(requirement);
    const rank = priorityRank(priority);
    return [{ taskId: id, groupId, requirementKey: key, priorityRank: rank, sequence, timeLimitS }];
  });
  const earlier = results.filter((result) => typeof result === 'string');
  return { waiting, taskIds: earlier.length > 0 ? earlier : tasks.map(({ id }) => id) };
}

function valuesOfTasks(tasks: readonly NewTask[]) {
  return {
    ...Object.fromEntries(INPUT.map(({ name, valueIn }) => [name, valueIn ? tasks.map(valueIn) : []])),
    ...fileValues(
      tasks.map(({ job }) =>
        filesOfJob(job).map((file, position) => ({ role: 'INPUT', position, path: null, file })),
      ),
    ),
  };
}
