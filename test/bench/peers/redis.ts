/** Redis with an append-only file, for peers that keep their tasks in it. */
import { freePort, installed, listens, ServerProgram } from '../subjects/server-program.js';
import type { PeerServer } from './peer.js';

/** Sync of the append-only file: before each reply, or once a second. */
export type AppendFsync = 'always' | 'everysec';

function redis(): string | undefined {
  return installed('redis-server');
}

/** The reason why Redis cannot be started; undefined when it can. */
export function redisMissing(): string | undefined {
  return redis() ? undefined : 'redis-server is not installed (apt-get install redis-server)';
}

/** Starts Redis with its data in this folder; resolves when it accepts connections. */
export async function startRedis(folder: string, appendfsync: AppendFsync): Promise<PeerServer> {
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
