/** graphile-worker on PostgreSQL, synced before each response, in batches: simultaneous requests share a transaction. */
import { missingPostgres, startServer } from '../subjects/postgres.js';
import { peerSubject } from './peer.js';

export const graphile = peerSubject({
  name: 'graphile batch',
  peer: 'graphile',
  variant: 'batch',
  missing: missingPostgres,
  startServer: async () => {
    const server = await startServer();
    const postgres = { pid: server.pid, stop: () => server.end() };
    return { programs: { postgres }, port: server.port, url: server.url('postgres') };
  },
});
