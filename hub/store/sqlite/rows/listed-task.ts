/** The row of a task in the table that lists read. */
import type { Task } from '../../../core/task.js';
import { SEARCHED_COLUMNS, type SearchedTask } from '../../rows/searched-texts.js';
import { lastingKindOf, STATUS_NUMBERS } from '../../rows/task-kinds.js';
import type { SqliteDatabase } from '../connection/database.js';

/** A task with the id of the instance that has it, or has had it last. */
type Listed = Pick<Task, 'type' | 'status' | 'priority' | 'requestedAtMs'> &
  SearchedTask & { readonly instanceId: string | null };

const COLUMNS = [
  'seq',
  'kind',
  'requested_at',
  'instance_id',
  ...SEARCHED_COLUMNS.map(({ column }) => column),
];

/** Inserts the row of a new task; a trigger keeps it up to date. To be called within a transaction. */
export function listedTaskInsertion(db: SqliteDatabase): (seq: number, task: Listed) => void {
  const insert = db.prepare<(number | string | null)[]>(
    `INSERT INTO listed_task (${COLUMNS.join(', ')}) VALUES (${COLUMNS.map(() => '?').join(', ')})`,
  );
  return (seq, task) => {
    const kind = lastingKindOf(task.type, task.priority) + 8 * STATUS_NUMBERS[task.status];
    const texts = SEARCHED_COLUMNS.map(({ textOf }) => textOf(task));
    insert.run(seq, kind, task.requestedAtMs, task.instanceId, ...texts);
  };
}
