import { openPool, statement } from '@workbench-hub/hub/store/postgres/connection/pool';
import { TASK_TEXT_COLUMNS } from '@workbench-hub/hub/store/postgres/rows/task-text';
import { requirementIds } from '@workbench-hub/hub/store/postgres/tasks/requirement-ids';
import { priorityOfRank } from '@workbench-hub/shared/domain/priority';
import type { StoredTask, StoredTasks } from './stored-task.js';

/** Tasks of one statement. */
const TOGETHER = 20_000;

const INSERT = `
  WITH given AS MATERIALIZED (
    SELECT nextval('task_seq') AS seq, each.*
    FROM json_populate_recordset(null::bench_task, $1) WITH ORDINALITY AS each ORDER BY each.ordinality),
  tasks AS (
    INSERT INTO task (seq, type, status, priority, requirement_id, started_at, ended_at, attempt, agent_id, instance_id,
                      instance_version, instance_revision, batch_status)
    SELECT seq, type, status, priority, requirement, started_at, ended_at, attempt, agent_id, instance_id,
           instance_version, instance_revision, batch_status FROM given),
  requests AS (
    INSERT INTO task_request (task_seq, id, requirement_id, requested_at, creator, name, classifiers, job)
    SELECT seq, id, requirement, requested_at, creator, name, classifiers, job FROM given)
  INSERT INTO task_text (task_seq, requested_at, ${TASK_TEXT_COLUMNS.map(({ column }) => column).join(', ')})
  SELECT seq, requested_at, ${TASK_TEXT_COLUMNS.map(({ column }) => `searched_${column}`).join(', ')} FROM given`;

/** Columns of a given task. */
const ROW_TYPE = `
  CREATE TYPE bench_task AS (
    id text, type text, status text, priority smallint, requirement bigint, requested_at bigint, started_at bigint,
    ended_at bigint, attempt integer, agent_id text, instance_id text, instance_version text, instance_revision text,
    batch_status text, creator text, name text, classifiers text, job text,
    ${TASK_TEXT_COLUMNS.map(({ column, type }) => `searched_${column} ${type}`).join(', ')})`;

/** Upkeep that a server in use does by itself in time. */
const SETTLE = [
  'WITH former AS (DELETE FROM task_count RETURNING *) INSERT INTO task_count SELECT kind, sum(tasks) FROM former GROUP BY kind',
  'VACUUM ANALYZE',
  'CHECKPOINT',
];

/** Writes tasks into a migrated database. */
export async function writeToPostgres(url: string, { requirements, tasks }: StoredTasks): Promise<void> {
  const database = openPool({ url, log: null, statementTimeoutMs: 0 });
  try {
    const ids = await requirementIds(database).of(requirements);
    const rowIds = requirements.map((key) => ids.get(key) ?? 0);
    await database.script(ROW_TYPE);
    const insert = statement(INSERT);
    for (const some of inParts(tasks)) {
      const rows = some.map((task) => {
        const listed = { ...task, note: null, study: null, priority: priorityOfRank(task.priority) };
        const texts = TASK_TEXT_COLUMNS.map(({ column, valueIn }) => [`searched_${column}`, valueIn(listed)]);
        return { ...task, requirement: rowIds[task.requirement], ...Object.fromEntries(texts) };
      });
      await database.rows(insert, [JSON.stringify(rows)]);
    }
    await database.script('DROP TYPE bench_task');
    for (const each of SETTLE) await database.script(each);
  } finally {
    await database.close();
  }
}

function* inParts(tasks: Iterable<StoredTask>): Generator<readonly StoredTask[]> {
  let part: StoredTask[] = [];
  for (const task of tasks) {
    part.push(task);
    if (part.length < TOGETHER) continue;
    yield part;
    part = [];
  }
  if (part.length > 0) yield part;
}
