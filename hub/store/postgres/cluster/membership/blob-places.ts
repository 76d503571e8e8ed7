/** The places of the blobs of all hubs: each hub must find what the others have stored. */

import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { SharedPlace } from '../../../../core/ports/blobs.js';
import type { Queries } from '../../connection/pool.js';
import { rowOf, rowsOf, sql } from '../../connection/statement.js';
import { IS_LIVE } from '../common/hub-statements.js';
import { CLUSTER_TIMINGS } from '../common/timings.js';

const SET = sql(
  { hubId: 'text', placeId: 'text', place: 'text' },
  'UPDATE hub SET place_id = :placeId, place = :place WHERE id = :hubId',
);

/** A hub with another place that began earlier: when two start at the same time, the second one is refused. */
const OTHER = sql(
  { hubId: 'text', placeId: 'text', lapseMs: 'bigint' },
  `SELECT hub.id, hub.place FROM hub, hub AS own WHERE own.id = :hubId AND hub.id <> own.id AND hub.place_id <> '' AND ${IS_LIVE}
     AND (hub.place_id <> :placeId OR hub.place_id = 'local') AND (hub.started_at, hub.id) < (own.started_at, own.id)
   ORDER BY hub.id LIMIT 1`,
);

/** Records the place of this hub's blobs; null is a folder of its own. Rejects with `StartRefused` when another hub has another place, and
 *  with `DatabaseFault`. */
export async function shareBlobPlace(db: Queries, hubId: string, place: SharedPlace | null): Promise<void> {
  const placeId = place?.id ?? 'local';
  await rowsOf(db, SET, { hubId, placeId, place: place?.text ?? 'its dataDir' });
  const values = { hubId, placeId, lapseMs: CLUSTER_TIMINGS.lapseMs };
  const other = await rowOf<{ id: string; place: string }, keyof typeof values>(db, OTHER, values);
  if (!other) return;
  throw new StartRefused(
    `the hub ${other.id} runs on the same database and has its blobs in ${other.place}, this one in ${place?.text ?? 'its dataDir'}: several ` +
      'hubs need one place for their blobs, so set storage.folder to a folder that all of them mount, or storage.s3 to one bucket, on each of them',
  );
}
