/** Keys by which a repeated insertion is recognized; task-insertion.ts adds them with their tasks. */

import { sql } from '../connection/statement.js';
import { type LaneWrite, laneStatement } from '../lanes/lane-statements.js';

export const HAS_KEYS = sql(
  { usedBefore: 'bigint' },
  'SELECT 1 AS found FROM idempotency_key WHERE used_at < :usedBefore LIMIT 1',
);

/** Forgets the keys that were used before a time; gives their number. */
export const FORGET_KEYS: LaneWrite<number, number> = {
  statement: laneStatement({
    parameters: { usedBefore: 'bigint' },
    parts: `
      forgotten AS (DELETE FROM idempotency_key USING held WHERE used_at < :usedBefore RETURNING used_at)`,
    outcome: 'SELECT to_json(count(*)) FROM forgotten',
  }),
  isDurable: true,
  keys: () => ['all'],
  values: ([usedBefore]) => ({ usedBefore }),
  results: (_, outcome) => [outcome as number],
};
