/** BullMQ on Redis, synced before each reply (`always`) or once a second; its tasks run in one process or in one each. */
import { type PeerSetup, peerSubject } from './peer.js';
import { type AppendFsync, redisMissing, startRedis } from './redis.js';
import { SANDBOXED } from './role.js';

const bullmq = (name: string, appendfsync: AppendFsync, variant: PeerSetup['variant']) =>
  peerSubject({
    name,
    peer: 'bullmq',
    variant,
    missing: redisMissing,
    startServer: (folder) => startRedis(folder, appendfsync),
  });

export const bullmqAlways = bullmq('bullmq always', 'always', 'shared');
export const bullmqEverysec = bullmq('bullmq everysec', 'everysec', 'shared');
/** Equivalent of the hub: a process for each slot, and in W4 the file work that an agent does. */
export const bullmqSandboxed = bullmq('bullmq sandboxed', 'always', SANDBOXED);
