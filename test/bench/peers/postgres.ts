/** PostgreSQL for peers that keep their tasks in it, with the settings of a hub's server. */
import { startServer } from '../subjects/postgres.js';
import type { PeerServer } from './peer.js';

/** Starts a server; resolves when it accepts connections. */
export async function startPostgres(): Promise<PeerServer> {
  const server = await startServer();
  const postgres = { pid: server.pid, stop: () => server.end() };
  return { programs: { postgres }, port: server.port, url: server.url('postgres') };
}
