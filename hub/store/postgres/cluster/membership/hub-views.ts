/** The hubs of a database, as their rows show them. */
import type { HubView } from '../../../../core/ports/hubs.js';
import type { Database } from '../../connection/pool.js';
import { rowsOf } from '../../connection/statement.js';
import { ALL_HUBS, type HubRow } from '../common/hub-statements.js';

/** All hubs, by id; one that was not seen for `lapseMs` is not live. Rejects with `DatabaseFault`. */
export async function readHubs(database: Pick<Database, 'rows'>, lapseMs: number): Promise<HubView[]> {
  const rows = await rowsOf<HubRow, 'lapseMs'>(database, ALL_HUBS, { lapseMs });
  return rows.map((row) => ({
    id: row.id,
    version: row.version,
    address: row.address,
    startedAtMs: row.started_at_ms,
    seenAtMs: row.seen_at_ms,
    isLive: row.is_live,
    isScheduler: row.term !== null,
    term: row.term,
    agents: row.agents,
    runningTasks: row.running,
    clockOffsetMs: row.clock_offset_ms,
    preparedAtMs: row.prepared_at,
  }));
}
