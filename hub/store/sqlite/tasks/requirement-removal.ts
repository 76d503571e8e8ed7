import type { SqliteDatabase } from '../connection/database.js';

export interface RemovedRequirements {
  readonly removed: number;
  /** Id after which the next page begins; null after the last one. */
  readonly nextAfterId: number | null;
}

/** Removes the requirements of one page that no task has. To be called within a transaction. */
export function requirementRemoval(
  db: SqliteDatabase,
): (afterId: number, limit: number) => RemovedRequirements {
  const selectPageEnd = db
    .prepare<[number, number], number>('SELECT id FROM requirement WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?')
    .pluck();
  // The latest one stays, so that no id is reused.
  const deleteUnused = db.prepare<[number, number]>(`
    DELETE FROM requirement WHERE id > ? AND id <= ? AND id < (SELECT max(id) FROM requirement)
      AND NOT EXISTS (SELECT 1 FROM task WHERE requirement_id = requirement.id)`);
  return (afterId, limit) => {
    const end = selectPageEnd.get(afterId, limit - 1);
    const { changes } = deleteUnused.run(afterId, end ?? Number.MAX_SAFE_INTEGER);
    return { removed: changes, nextAfterId: end ?? null };
  };
}
