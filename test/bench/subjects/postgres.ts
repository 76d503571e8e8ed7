/** PostgreSQL servers of subjects. Hubs and peers get the same settings. */
import { hasPostgres, type OwnPostgresServer, startPostgres } from '../../support/stores/postgres.js';

/** Settings of a server that survives a power failure, on a machine with other programs. */
const SETTINGS = {
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  shared_buffers: '256MB',
  max_wal_size: '4GB',
  max_connections: '80',
};

/** Starts a server with data of its own; the caller ends it. */
export function startServer(): Promise<OwnPostgresServer> {
  return startPostgres(SETTINGS);
}

/** The missing requirement of this machine, if any. */
export function missingPostgres(): string | undefined {
  return hasPostgres ? undefined : 'PostgreSQL is not installed (npm ci)';
}
