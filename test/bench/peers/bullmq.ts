/** BullMQ on Redis, whose append-only file is synced before each reply (`always`) or once a second (`everysec`). */
import { freePort, installed, listens, ServerProgram } from '../subjects/server-program.js';
import { type PeerServer, peerSubject } from './peer.js';

const bullmq = (appendfsync: 'always' | 'everysec') =>
  peerSubject({
    name: `bullmq ${appendfsync}`,
    peer: 'bullmq',
    variant: appendfsync,
    missing: () => (redis() ? undefined : 'redis-server is not installed (apt-get install redis-server)'),
    startServer: (folder) => startRedis(folder, appendfsync),
  });

export const bullmqAlways = bullmq('always');
export const bullmqEverysec = bullmq('everysec');

function redis(): string | undefined {
  return installed('redis-server');
}

async function startRedis(folder: string, appendfsync: string): Promise<PeerServer> {
  const port = await freePort();
  const settings = {
    port: `${port}`,
    bind: '127.0.0.1',
    dir: folder,
    save: '',
    appendonly: 'yes',
    appendfsync,
    'maxmemory-policy': 'noeviction',
  };
  const args = Object.entries(settings).flatMap(([key, value]) => [`--${key}`, value]);
  const program = new ServerProgram('redis', redis() ?? '', args, { folder });
  await program.until(() => listens(port));
  return { programs: { redis: program }, port };
}
