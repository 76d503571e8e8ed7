/** DBOS on PostgreSQL, synced before each response: each task is a durable workflow of a queue; simultaneous requests share a
 *  transaction. */
import { missingPostgres } from '../subjects/postgres.js';
import { peerSubject } from './peer.js';
import { startPostgres } from './postgres.js';

export const dbos = peerSubject({
  name: 'dbos batch',
  peer: 'dbos',
  variant: 'batch',
  missing: missingPostgres,
  startServer: startPostgres,
});
