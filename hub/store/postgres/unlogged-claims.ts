/** Claims of hubs that have ended without logging them as changes (see claim-log.ts). The next scheduler logs them. */
import type { ChangeLog } from './change-log.js';
import { IS_LIVE } from './cluster/hub-statements.js';
import { CLUSTER_TIMINGS } from './cluster/timings.js';
import type { Database } from './pool.js';
import { rowsOf, sql } from './statement.js';

const LANES = sql(
  { hubId: 'text', lapseMs: 'bigint' },
  `SELECT claim.id FROM lane AS claim
   WHERE claim.name = 'claim' AND claim.hub <> :hubId
     AND claim.batch > (SELECT max(logged) FROM lane WHERE lane.hub = claim.hub)
     AND NOT EXISTS (SELECT FROM hub WHERE hub.id = claim.hub AND ${IS_LIVE})`,
);
const LOGGED = sql({ laneIds: 'smallint[]' }, 'UPDATE lane SET logged = batch WHERE id = ANY (:laneIds)');

/** Rejects with `DatabaseFault`, and with HubError as lanes do. */
export async function logClaimsOfEndedHubs(
  db: Database,
  hubId: string,
  changes: Pick<ChangeLog, 'noteRunning'>,
): Promise<void> {
  const { lapseMs } = CLUSTER_TIMINGS;
  const lanes = await rowsOf<{ id: number }, 'hubId' | 'lapseMs'>(db, LANES, { hubId, lapseMs });
  if (lanes.length === 0) return;
  await changes.noteRunning();
  await rowsOf(db, LOGGED, { laneIds: lanes.map(({ id }) => id) });
}
