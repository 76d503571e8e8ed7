/** Limits of Node on this machine without any product. */
import { peerSubject } from './peer.js';

const limit = (variant: string, worker: boolean) =>
  peerSubject({ name: `limit ${variant}`, peer: 'limit', variant, worker });

/** Hono alone: parses the JSON, responds with 201, stores nothing. */
export const limitHttp = limit('http', false);
/** Also an insert, synced before the 201, one commit for all requests of a turn of the event loop. */
export const limitSqlite = limit('sqlite', false);
/** Also a worker on one WebSocket, and results committed with the next group: the bare bones of a hub, without
 *  scheduling, roles, attempts, leases or history. */
export const limitPipeline = limit('pipeline', true);
