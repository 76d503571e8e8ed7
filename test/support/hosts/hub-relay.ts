/** A way from the hosts of a cluster to a hub outside its network. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { SlurmCluster } from './slurm-cluster.js';

const RELAY = fileURLToPath(new URL('relay.mjs', import.meta.url)).replace(
  /([/\\])dist\1support/,
  '$1support',
);

export interface HubRelay {
  close(): void;
}

/** Lets the hosts of the cluster reach this port. Networks have no way to each other, but share files. */
export async function relayToHub(cluster: SlurmCluster, port: number): Promise<HubRelay> {
  const sockets = new Set<Socket>();
  const path = join(cluster.folder, 'hub.socket');
  const server = createServer((inside) => {
    const outside = connect(port, '127.0.0.1');
    for (const socket of [inside, outside]) {
      sockets.add(socket.on('error', () => undefined));
      socket.on('close', () => sockets.delete(socket));
    }
    inside.pipe(outside).pipe(inside);
    inside.on('close', () => outside.destroy());
    outside.on('close', () => inside.destroy());
  });
  await once(server.listen(path), 'listening');
  const relay = cluster.spawnInside(process.execPath, [RELAY, String(port), path], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  if (!relay.stdout) throw new Error('the relay has no output');
  await once(relay.stdout, 'data');
  return {
    close() {
      relay.kill();
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
