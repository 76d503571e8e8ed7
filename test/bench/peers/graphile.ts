/** graphile-worker on PostgreSQL, synced before each response, in batches: simultaneous requests share a transaction. */
import { missingPostgres } from '../subjects/postgres.js';
import { peerSubject } from './peer.js';
import { startPostgres } from './postgres.js';

export const graphile = peerSubject({
  name: 'graphile batch',
  peer: 'graphile',
  variant: 'batch',
  missing: missingPostgres,
  startServer: startPostgres,
});
