/** The row of a task in the table that lists read. */

import type { NewTask } from '../../../core/task.js';
import { foldedName } from '../../../core/task-filter.js';
import { searchable } from '../../rows/searchable-text.js';
import { lastingKindOf, STATUS_NUMBERS } from '../../rows/task-kinds.js';
import type { SqliteDatabase } from '../connection/database.js';

/** A task with the id of the instance that has it, or has had it last. */
type Listed = Pick<NewTask, 'id' | 'type' | 'status' | 'priority' | 'requestedAtMs' | 'name' | 'creator'> & {
  readonly instanceId: string | null;
};

/** Inserts the row of a new task; a trigger keeps it up to date. To be called within a transaction. */
export function listedTaskInsertion(db: SqliteDatabase): (seq: number, task: Listed) => void {
  const insert = db.prepare<[number, number, number, string | null, string, string | null, string | null]>(
    'INSERT INTO listed_task (seq, kind, requested_at, instance_id, id, name, creator) VALUES (?, ?, ?, ?, ?, ?, ?)',
  );
  return (seq, { id, type, status, priority, requestedAtMs, instanceId, name, creator }) => {
    insert.run(
      seq,
      lastingKindOf(type, priority) + 8 * STATUS_NUMBERS[status],
      requestedAtMs,
      instanceId,
      searchable(id),
      name === null ? null : searchable(foldedName(name)),
      creator === null ? null : searchable(creator),
    );
  };
}
