import type { Job } from '@workbench-hub/shared/domain/job';
import type { TaskArchive } from '../../../core/ports/task-archive.js';
import { type FormerAttemptRow, formerAttemptOfRow } from '../../rows/attempt-row.js';
import { checkpointOfRows, type FileRow, filesOfRows } from '../../rows/file-row.js';
import { MAX_REFERENCES } from '../../rows/limits.js';
import { taskOfRow } from '../../rows/task-row.js';
import { gathered } from '../connection/gathered-reads.js';
import type { Database } from '../connection/pool.js';
import { rowsOf, sql } from '../connection/statement.js';
import type { Lanes } from '../lanes/lanes.js';
import type { TaskLists } from '../lists/task-lists.js';
import { type RowWithTask, TASK_JOINS, TASK_JSON } from '../rows/task-columns.js';
import { HAS_NO_OPEN_LOAN, REMOVE_WRITE } from './task-removal.js';

const TASKS = sql(
  { taskIds: 'text[]' },
  `SELECT task_request.id, ${TASK_JSON} AS task FROM task ${TASK_JOINS} WHERE task_request.id = ANY (:taskIds)`,
);
const JOBS = sql({ taskIds: 'text[]' }, 'SELECT id, job FROM task_request WHERE id = ANY (:taskIds)');

/** Named objects that the task left come as files without a digest. */
const FILES = sql(
  { taskId: 'text' },
  `WITH asked AS (SELECT task_seq FROM task_request WHERE id = :taskId)
   SELECT role, path, digest, size_bytes, encrypted FROM (
     SELECT role, position, path, digest, size_bytes, encrypted FROM asked JOIN task_file USING (task_seq) WHERE role IN ('OUTPUT', 'LOG')
     UNION ALL
     SELECT 'STORED', position, name, '', size_bytes, false FROM asked JOIN task_stored_file USING (task_seq)) AS file
   ORDER BY role, position`,
);

const CHECKPOINT = sql(
  { taskId: 'text' },
  `SELECT path, digest, size_bytes, encrypted FROM task_file
   WHERE task_seq = (SELECT task_seq FROM task_request WHERE id = :taskId) AND role = 'CHECKPOINT' ORDER BY position`,
);

const ATTEMPTS = sql(
  { taskId: 'text' },
  `SELECT attempt, agent_id, instance_id, instance_version, instance_revision, started_at, ended_at, loss, reason
   FROM former_attempt WHERE task_seq = (SELECT task_seq FROM task_request WHERE id = :taskId) ORDER BY attempt`,
);

const ENDED = sql(
  { before: 'bigint', limit: 'bigint' },
  `SELECT task_request.id FROM (SELECT seq, ended_at FROM task WHERE ended_at < :before AND ${HAS_NO_OPEN_LOAN} ORDER BY ended_at, seq LIMIT :limit) AS ended
   JOIN task_request ON task_request.task_seq = ended.seq ORDER BY ended.ended_at, ended.seq`,
);

const REFERENCES = sql(
  { digest: 'text', limit: 'bigint' },
  'SELECT task_seq, role, encrypted FROM task_file WHERE digest = :digest ORDER BY task_seq DESC LIMIT :limit',
);

const TASKS_BY_SEQ = sql(
  { seqs: 'bigint[]' },
  `SELECT ${TASK_JSON} AS task FROM task ${TASK_JOINS} WHERE task.seq = ANY (:seqs) ORDER BY task.seq DESC`,
);

export function postgresTaskArchive(db: Database, lanes: Lanes, lists: TaskLists): TaskArchive {
  const find = gathered(async (taskIds: readonly string[]) => {
    const rows = await rowsOf<RowWithTask & { id: string }, 'taskIds'>(db, TASKS, { taskIds });
    return new Map(rows.map(({ id, task }) => [id, task]));
  });
  const findJob = gathered(async (taskIds: readonly string[]) => {
    const rows = await rowsOf<{ id: string; job: string }, 'taskIds'>(db, JOBS, { taskIds });
    return new Map(rows.map(({ id, job }) => [id, job]));
  });
  return {
    find: async (taskId) => {
      const row = await find(taskId);
      return row && taskOfRow(row);
    },
    filesOf: async (taskId) => {
      const rows = await rowsOf<FileRow, 'taskId'>(db, FILES, { taskId });
      const stored = rows.filter(({ role }) => role === 'STORED');
      return filesOfRows(
        rows,
        stored.map(({ path, size_bytes }) => ({ name: path, sizeBytes: size_bytes })),
      );
    },
    jobOf: async (taskId) => {
      const job = await findJob(taskId);
      return job === undefined ? undefined : (JSON.parse(job) as Job);
    },
    checkpointOf: async (taskId) =>
      checkpointOfRows(await rowsOf<FileRow, 'taskId'>(db, CHECKPOINT, { taskId })),
    formerAttempts: async (taskId) =>
      (await rowsOf<FormerAttemptRow, 'taskId'>(db, ATTEMPTS, { taskId })).map(formerAttemptOfRow),
    withInput: withInput(db),
    list: (query) => lists.list(query),
    window: (query) => lists.window(query),
    remove: (taskIds) => lanes.change.write(REMOVE_WRITE, taskIds),
    endedBefore: async (timeMs, limit) => {
      const values = { before: timeMs, limit };
      return (await rowsOf<{ id: string }, keyof typeof values>(db, ENDED, values)).map(({ id }) => id);
    },
  };
}

interface ReferenceRow {
  readonly task_seq: number;
  readonly role: string;
  readonly encrypted: boolean;
}

function withInput(db: Database): TaskArchive['withInput'] {
  return async ({ digest, encrypted = false }, limit) => {
    const asked = { digest, limit: MAX_REFERENCES };
    const references = await rowsOf<ReferenceRow, keyof typeof asked>(db, REFERENCES, asked);
    const inputs = references.filter((each) => each.role === 'INPUT' && each.encrypted === encrypted);
    const seqs = [...new Set(inputs.map(({ task_seq }) => task_seq))];
    const rows = await rowsOf<RowWithTask, 'seqs'>(db, TASKS_BY_SEQ, { seqs: seqs.slice(0, limit) });
    return {
      tasks: rows.map(({ task }) => taskOfRow(task)),
      isComplete: references.length < MAX_REFERENCES && seqs.length <= limit,
    };
  };
}
