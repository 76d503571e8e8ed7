import type { OpenLoans } from '../../../core/ports/open-loans.js';
import { type TaskRow, taskOfRow } from '../../rows/task-row.js';
import type { SqliteDatabase } from '../connection/database.js';
import type { GroupCommit } from '../connection/group-commit.js';
import { TASK_COLUMNS, TASK_TABLES } from '../rows/task-columns.js';

export function sqliteOpenLoans(db: SqliteDatabase, commit: GroupCommit): OpenLoans {
  const select = db
    .prepare<[], TaskRow>(
      `SELECT ${TASK_COLUMNS} FROM ${TASK_TABLES} WHERE task.seq IN (SELECT task_seq FROM open_loan) ORDER BY task.seq`,
    )
    .raw();
  const close = db.prepare<[string]>(
    'DELETE FROM open_loan WHERE task_seq = (SELECT seq FROM task WHERE id = ?)',
  );
  return {
    all: async () => select.all().map(taskOfRow),
    close: async (taskIds) =>
      void (await commit.freeing(() => {
        for (const taskId of taskIds) close.run(taskId);
      })),
  };
}
