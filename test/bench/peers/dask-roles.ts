import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { type StoredTask, serveFront } from './front.js';
import type { PeerRoles } from './role.js';

/** The highest number runs first. */
const PRIORITY = { HIGHEST: 10, OTHER: 0 } as const;

/** A line of the client: a task that it has, or the end of one. */
interface Line extends StoredTask {
  readonly id: string;
}

export const daskRoles: PeerRoles = {
  async front({ serverPort }) {
    const client = connect({ port: serverPort, host: '127.0.0.1', noDelay: true });
    await once(client, 'connect');
    const known = new Map<string, StoredTask>();
    const creating = new Map<string, () => void>();
    const { port, ended } = await serveFront({
      create: async ({ kind, priority, payload }) => {
        const id = randomUUID();
        const created = new Promise<void>((resolve) => creating.set(id, resolve));
        const rank = priority === 'HIGHEST' ? PRIORITY.HIGHEST : PRIORITY.OTHER;
        client.write(`${JSON.stringify({ id, kind, payload, priority: rank })}\n`);
        await created;
        return id;
      },
      read: async (id) => known.get(id),
    });
    createInterface({ input: client }).on('line', (text) => {
      const { id, ...task } = JSON.parse(text) as Line;
      known.set(id, task);
      creating.get(id)?.();
      creating.delete(id);
      if (task.state !== 'PENDING') ended(id);
    });
    return port;
  },

  async worker() {
    throw new Error('the workers of Dask are programs of Python');
  },
};
