import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { serveFront } from './front.js';
import type { PeerRoles } from './role.js';

/** Celery's default queue, and the prefix of its results in Redis. */
const QUEUE = 'celery';
const RESULTS = 'celery-task-meta-';

interface StoredResult {
  readonly status: string;
  readonly result: unknown;
}

export const celeryRoles: PeerRoles = {
  async front({ serverPort }) {
    const connection = { host: '127.0.0.1', port: serverPort, maxRetriesPerRequest: null };
    const redis = new Redis(connection);
    const results = new Redis(connection);
    const created = new Set<string>();
    const { port, ended } = await serveFront({
      create: async ({ kind, payload }) => {
        const id = randomUUID();
        await redis.lpush(QUEUE, messageOf(id, [kind, payload]));
        created.add(id);
        return id;
      },
      read: async (id) => {
        if (!created.has(id)) return undefined;
        const stored = await redis.get(`${RESULTS}${id}`);
        if (stored === null) return { state: 'PENDING' };
        const { status, result } = JSON.parse(stored) as StoredResult;
        return { state: status === 'SUCCESS' ? 'COMPLETED' : 'FAILED', result };
      },
    });
    results.on('pmessage', (_pattern: string, channel: string) => ended(channel.slice(RESULTS.length)));
    await results.psubscribe(`${RESULTS}*`);
    return port;
  },

  async worker() {
    throw new Error('the worker of Celery is a program of Python');
  },
};

/** Message of Celery's protocol 2, as its Redis transport stores it. */
function messageOf(id: string, args: readonly unknown[]): string {
  const noCallbacks = { callbacks: null, errbacks: null, chain: null, chord: null };
  return JSON.stringify({
    body: Buffer.from(JSON.stringify([args, {}, noCallbacks])).toString('base64'),
    'content-encoding': 'utf-8',
    'content-type': 'application/json',
    headers: {
      lang: 'py',
      task: 'bench.execute',
      id,
      root_id: id,
      parent_id: null,
      group: null,
      eta: null,
      expires: null,
      retries: 0,
      timelimit: [null, null],
      argsrepr: '',
      kwargsrepr: '{}',
      origin: 'bench',
      ignore_result: false,
    },
    properties: {
      correlation_id: id,
      reply_to: id,
      delivery_mode: 2,
      delivery_info: { exchange: '', routing_key: QUEUE },
      priority: 0,
      body_encoding: 'base64',
      delivery_tag: id,
    },
  });
}
