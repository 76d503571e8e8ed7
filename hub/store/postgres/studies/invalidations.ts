import type { Invalidations } from '../../../core/ports/invalidations.js';
import type { Invalidation } from '../../../core/studies/reuse/invalidation.js';
import {
  INVALIDATION_COLUMNS,
  type InvalidationRow,
  invalidationOfRow,
  rowOfInvalidation,
} from '../../rows/invalidation-row.js';
import type { Database } from '../connection/pool.js';
import { rowOf, rowsOf, sql } from '../connection/statement.js';
import { type LaneWrite, laneStatement } from '../lanes/lane-statements.js';
import type { Lanes } from '../lanes/lanes.js';

const ALONE = { isDurable: true, keys: () => ['all'] } as const;

const ADD: LaneWrite<Invalidation, null> = {
  ...ALONE,
  statement: laneStatement({
    parameters: { id: 'text', results: 'text', note: 'text', creator: 'text', createdAt: 'bigint' },
    parts: `
      added AS (
        INSERT INTO invalidation (${INVALIDATION_COLUMNS}) SELECT :id, :results, :note, :creator, :createdAt FROM held)`,
    outcome: "'null'",
  }),
  values: ([call]) => {
    if (!call) return {};
    const { created_at, ...row } = rowOfInvalidation(call);
    return { ...row, createdAt: created_at };
  },
  results: () => [null],
};

const REMOVE: LaneWrite<string, boolean> = {
  ...ALONE,
  statement: laneStatement({
    parameters: { id: 'text' },
    parts: 'removed AS (DELETE FROM invalidation USING held WHERE invalidation.id = :id RETURNING seq)',
    outcome: 'SELECT to_json(count(*)) FROM removed',
  }),
  values: ([id]) => ({ id }),
  results: (_, outcome) => [outcome !== 0],
};

const FIND = sql({ id: 'text' }, `SELECT ${INVALIDATION_COLUMNS} FROM invalidation WHERE id = :id`);
const LIST = sql({}, `SELECT ${INVALIDATION_COLUMNS} FROM invalidation ORDER BY seq DESC`);

export function postgresInvalidations(db: Database, { change }: Lanes): Invalidations {
  return {
    add: async (invalidation) => void (await change.write(ADD, invalidation)),
    list: async () => (await rowsOf<InvalidationRow, never>(db, LIST, {})).map(invalidationOfRow),
    find: async (id) => {
      const row = await rowOf<InvalidationRow, 'id'>(db, FIND, { id });
      return row && invalidationOfRow(row);
    },
    remove: (id) => change.write(REMOVE, id),
  };
}
