/** pg-boss on PostgreSQL, synced before each response, in batches: simultaneous requests share an insert. */
import { missingPostgres } from '../subjects/postgres.js';
import { peerSubject } from './peer.js';
import { startPostgres } from './postgres.js';

export const pgBoss = peerSubject({
  name: 'pg-boss batch',
  peer: 'pg-boss',
  variant: 'batch',
  missing: missingPostgres,
  startServer: startPostgres,
});
