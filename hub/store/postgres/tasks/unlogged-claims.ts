/** Claims of hubs that have ended without logging them as changes (see claim-log.ts). The next scheduler logs them. */

import { IS_LIVE } from '../cluster/common/hub-statements.js';
import { CLUSTER_TIMINGS } from '../cluster/common/timings.js';
import type { Database } from '../connection/pool.js';
import { rowsOf, sql } from '../connection/statement.js';
import type { ChangeLog, ClaimBatches } from './change-log.js';

const LANES = sql(
  { hubId: 'text', lapseMs: 'bigint' },
  `SELECT claim.id, claim.batch FROM lane AS claim
   WHERE claim.name = 'claim' AND claim.hub <> :hubId
     AND claim.batch > (SELECT max(logged) FROM lane WHERE lane.hub = claim.hub)
     AND NOT EXISTS (SELECT FROM hub WHERE hub.id = claim.hub AND ${IS_LIVE})`,
);

/** Rejects with `DatabaseFault`, and with HubError as lanes do. */
export async function logClaimsOfEndedHubs(
  db: Database,
  hubId: string,
  changes: Pick<ChangeLog, 'logRunning'>,
): Promise<void> {
  const { lapseMs } = CLUSTER_TIMINGS;
  const lanes = await rowsOf<ClaimBatches, 'hubId' | 'lapseMs'>(db, LANES, { hubId, lapseMs });
  if (lanes.length > 0) await changes.logRunning(lanes);
}
