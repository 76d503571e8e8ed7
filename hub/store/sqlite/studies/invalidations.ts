import type { Invalidations } from '../../../core/ports/invalidations.js';
import {
  INVALIDATION_COLUMNS,
  type InvalidationRow,
  invalidationOfRow,
  rowOfInvalidation,
} from '../../rows/invalidation-row.js';
import type { SqliteDatabase } from '../connection/database.js';
import type { GroupCommit } from '../connection/group-commit.js';

export function sqliteInvalidations(db: SqliteDatabase, commit: GroupCommit): Invalidations {
  const insert = db.prepare<[InvalidationRow]>(
    `INSERT INTO invalidation (${INVALIDATION_COLUMNS}) VALUES (@id, @results, @note, @creator, @created_at)`,
  );
  const select = db.prepare<[string], InvalidationRow>(
    `SELECT ${INVALIDATION_COLUMNS} FROM invalidation WHERE id = ?`,
  );
  const selectAll = db.prepare<[], InvalidationRow>(
    `SELECT ${INVALIDATION_COLUMNS} FROM invalidation ORDER BY seq DESC`,
  );
  const remove = db.prepare<[string]>('DELETE FROM invalidation WHERE id = ?');
  return {
    add: (invalidation) => commit.durable(() => void insert.run(rowOfInvalidation(invalidation))),
    list: async () => selectAll.all().map(invalidationOfRow),
    find: async (id) => {
      const row = select.get(id);
      return row && invalidationOfRow(row);
    },
    remove: (id) => commit.durable(() => remove.run(id).changes > 0),
  };
}
