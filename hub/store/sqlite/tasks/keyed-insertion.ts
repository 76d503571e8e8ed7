import type { WaitingTask } from '../../../core/match-tasks.js';
import type { KeyedInsertion } from '../../../core/ports/task-queue.js';
import type { NewTask } from '../../../core/task.js';
import type { SqliteDatabase } from '../connection/database.js';

export interface KeyedInsertions {
  /** Inserts a task unless its creator has used the key. To be called within a transaction. */
  insert(task: NewTask, key: string): KeyedInsertion & { readonly waiting: readonly WaitingTask[] };
  /** Whether a key was used before this time. */
  has(usedBeforeMs: number): boolean;
  /** Forgets the keys that were used before this time; returns their number. To be called within a transaction. */
  forget(usedBeforeMs: number): number;
}

/** Prepares the statements, once for each database. */
export function keyedInsertions(
  db: SqliteDatabase,
  insertTask: (task: NewTask) => WaitingTask,
): KeyedInsertions {
  const selectTask = db
    .prepare<[string, string], string>('SELECT task_id FROM idempotency_key WHERE creator = ? AND key = ?')
    .pluck();
  const insertKey = db.prepare<[string, string, string, number]>(
    'INSERT INTO idempotency_key (creator, key, task_id, used_at) VALUES (?, ?, ?, ?)',
  );
  const selectUsed = db.prepare<[number]>('SELECT 1 FROM idempotency_key WHERE used_at < ? LIMIT 1');
  const forget = db.prepare<[number]>('DELETE FROM idempotency_key WHERE used_at < ?');
  return {
    insert: (task, key) => {
      const creator = task.creator ?? '';
      const earlier = selectTask.get(creator, key);
      if (earlier !== undefined) return { taskId: earlier, waiting: [] };
      const waiting = insertTask(task);
      insertKey.run(creator, key, task.id, task.requestedAtMs);
      return { taskId: task.id, waiting: [waiting] };
    },
    has: (usedBeforeMs) => selectUsed.get(usedBeforeMs) !== undefined,
    forget: (usedBeforeMs) => forget.run(usedBeforeMs).changes,
  };
}
