/** graphile-worker on PostgreSQL, synced before each response, in batches: simultaneous requests share a transaction. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, installed, listens, ServerProgram } from '../subjects/server-program.js';
import { give, instead } from './other-user.js';
import { type PeerServer, peerSubject } from './peer.js';

const DEBIAN = '/usr/lib/postgresql';

export const graphile = peerSubject({
  name: 'graphile batch',
  peer: 'graphile',
  variant: 'batch',
  missing: () =>
    program('postgres') ? undefined : 'PostgreSQL is not installed (apt-get install postgresql)',
  startServer,
});

function program(name: string): string | undefined {
  const versions = existsSync(DEBIAN)
    ? readdirSync(DEBIAN).map((version) => join(DEBIAN, version, 'bin'))
    : [];
  return installed(name, versions);
}

async function startServer(folder: string): Promise<PeerServer> {
  const port = await freePort();
  // Nobody may run PostgreSQL as root.
  const user = instead('postgres');
  const data = join(folder, 'postgres');
  mkdirSync(data);
  give(data, user);
  const initialize = ['-D', data, '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--no-locale'];
  execFileSync(program('initdb') ?? '', initialize, { ...user, cwd: data, stdio: 'ignore' });
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: 80,
    fsync: 'on',
    synchronous_commit: 'on',
    shared_buffers: '256MB',
    max_wal_size: '4GB',
  };
  const args = ['-D', data, ...Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`])];
  const server = new ServerProgram('postgres', program('postgres') ?? '', args, {
    folder,
    ...user,
    // Ends connections instead of waiting for them.
    stopSignal: 'SIGINT',
  });
  await server.until(() => listens(port));
  return { programs: { postgres: server }, port };
}
