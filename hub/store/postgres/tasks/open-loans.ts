import type { OpenLoans } from '../../../core/ports/open-loans.js';
import { taskOfRow } from '../../rows/task-row.js';
import type { Database } from '../connection/pool.js';
import { rowsOf, sql } from '../connection/statement.js';
import { type LaneWrite, laneStatement } from '../lanes/lane-statements.js';
import type { Lanes } from '../lanes/lanes.js';
import { type RowWithTask, TASK_JOINS, TASK_JSON } from '../rows/task-columns.js';

const ALL = sql(
  {},
  `SELECT ${TASK_JSON} AS task FROM open_loan JOIN task ON task.seq = open_loan.task_seq ${TASK_JOINS} ORDER BY task.seq`,
);

const CLOSE: LaneWrite<readonly string[], null> = {
  statement: laneStatement({
    parameters: { taskIds: 'text[]' },
    parts: `
      closed AS (
        DELETE FROM open_loan USING held, unnest(:taskIds) AS given (task_id), task_request
        WHERE task_request.id = given.task_id AND open_loan.task_seq = task_request.task_seq)`,
    outcome: "'null'",
  }),
  isDurable: true,
  keys: (taskIds) => taskIds,
  values: (calls) => ({ taskIds: calls.flat() }),
  results: (calls) => calls.map(() => null),
};

export function postgresOpenLoans(db: Database, { change }: Lanes): OpenLoans {
  return {
    all: async () => (await rowsOf<RowWithTask, never>(db, ALL, {})).map(({ task }) => taskOfRow(task)),
    close: async (taskIds) => void (await change.write(CLOSE, taskIds)),
  };
}
