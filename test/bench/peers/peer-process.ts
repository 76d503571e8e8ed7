/** A process of a peer: `peer-process.js <peer> front|worker <options as JSON>`. */
import { once } from 'node:events';
import type { PeerRoles, RoleOptions } from './role.js';

/** Message of a ready peer process; a front adds its address. */
export interface Ready {
  readonly port: number | null;
}

/** Each loads what it needs, and no more: its memory is measured. */
const PEERS: Readonly<Record<string, () => Promise<PeerRoles>>> = {
  bullmq: async () => (await import('./bullmq-roles.js')).bullmqRoles,
  celery: async () => (await import('./celery-roles.js')).celeryRoles,
  dask: async () => (await import('./dask-roles.js')).daskRoles,
  dbos: async () => (await import('./dbos-roles.js')).dbosRoles,
  graphile: async () => (await import('./graphile-roles.js')).graphileRoles,
  beanstalkd: async () => (await import('./beanstalkd-roles.js')).beanstalkdRoles,
  nats: async () => (await import('./nats-roles.js')).natsRoles,
  'pg-boss': async () => (await import('./pg-boss-roles.js')).pgBossRoles,
  slurm: async () => (await import('./slurm-roles.js')).slurmRoles,
  limit: async () => (await import('./limit-roles.js')).limitRoles,
};

const say = (message: Ready) => process.send?.(message);

// Ends with its parent process.
process.on('disconnect', () => process.exit());
process.on('SIGTERM', () => process.exit());

const [peer = '', role, json = ''] = process.argv.slice(2);
const roles = await PEERS[peer]?.();
if (!roles) throw new Error(`there is no peer ${peer}`);
const options = JSON.parse(json) as RoleOptions;
if (role === 'front') say({ port: await roles.front(options) });
else {
  await roles.worker(options, async () => {
    say({ port: null });
    await once(process, 'message');
  });
}
