/** Shutdown preparations: that of this hub in its row, which its next start clears, and that of all hubs in a row of its own. */
import type { Preparations, ShutdownPreparations } from '../../../../core/ports/shutdown-preparations.js';
import type { Database } from '../../connection/pool.js';
import { rowOf, sql } from '../../connection/statement.js';
import type { StatementRetries } from '../common/statement-retries.js';
import type { HubSelf } from './hub-rows.js';

export const READ_PREPARATIONS = sql(
  { hubId: 'text', incarnation: 'text' },
  `SELECT (SELECT prepared_at FROM hub WHERE id = :hubId AND incarnation = :incarnation) AS "HUB",
     (SELECT prepared_at FROM cluster_preparation) AS "CLUSTER"`,
);
export const CHANGE_HUB = sql(
  { hubId: 'text', incarnation: 'text', atMs: 'bigint' },
  `UPDATE hub SET prepared_at = CASE WHEN :atMs IS NOT NULL THEN coalesce(prepared_at, :atMs) END
   WHERE id = :hubId AND incarnation = :incarnation
   RETURNING prepared_at AS "HUB", (SELECT prepared_at FROM cluster_preparation) AS "CLUSTER"`,
);
export const CHANGE_CLUSTER = sql(
  { hubId: 'text', incarnation: 'text', atMs: 'bigint' },
  `UPDATE cluster_preparation SET prepared_at = CASE WHEN :atMs IS NOT NULL THEN coalesce(prepared_at, :atMs) END
   RETURNING (SELECT prepared_at FROM hub WHERE id = :hubId AND incarnation = :incarnation) AS "HUB", prepared_at AS "CLUSTER"`,
);

export interface ClusterPreparationsOptions {
  readonly self: HubSelf;
  readonly database: Database;
  readonly retries: StatementRetries;
}

export function clusterPreparations(options: ClusterPreparationsOptions): ShutdownPreparations {
  const { database, retries } = options;
  const { hubId, incarnation } = options.self;
  const own = { hubId, incarnation };
  return {
    read: () =>
      retries.run(async () =>
        found(await rowOf<Preparations, keyof typeof own>(database, READ_PREPARATIONS, own)),
      ),
    change: (scope, initiatedAtMs) => {
      const values = { ...own, atMs: initiatedAtMs };
      const change = scope === 'HUB' ? CHANGE_HUB : CHANGE_CLUSTER;
      return retries.run(async () =>
        found(await rowOf<Preparations, keyof typeof values>(database, change, values)),
      );
    },
  };
}

/** A hub whose row is another's is about to end. */
function found(row: Preparations | undefined): Preparations {
  return row ?? { HUB: null, CLUSTER: null };
}
