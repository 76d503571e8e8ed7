/**
 * The HTTP front that stands before every peer, which has none of its own:
 *   POST /tasks {kind, priority?, payload}   201 {id}, as soon as the peer says that it is durable
 *   GET  /tasks/:id/result?timeout=S         200 {id, state, result} at the end, 202 when it has not come, 404
 *   GET  /stats                              {ended}
 */
import type { IncomingMessage, Server } from 'node:http';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import type { LoadTask } from '../load/dialects.js';

export interface StoredTask {
  readonly state: 'PENDING' | 'COMPLETED' | 'FAILED';
  readonly result?: unknown;
}

export interface FrontBackend {
  /** Resolves with the id when the task is durable. */
  create(task: LoadTask): Promise<string>;
  read(id: string): Promise<StoredTask | undefined>;
  /** By default the front counts by itself. */
  countEnded?(): Promise<number>;
}

export interface Front {
  readonly server: Server<typeof IncomingMessage>;
  readonly port: number;
  /** To be called when a task has ended and its result can be read. */
  ended(id: string): void;
}

const MAX_TIMEOUT_S = 60;

export async function serveFront(backend: FrontBackend): Promise<Front> {
  const waiting = new Waiting();
  let endedCount = 0;
  const app = new Hono();
  app.post('/tasks', async (c) => {
    const task = await c.req.json<LoadTask>();
    if (typeof task.kind !== 'string') return c.json({ error: 'kind is required' }, 422);
    return c.json({ id: await backend.create(task) }, 201);
  });
  app.get('/tasks/:id/result', async (c) => {
    const id = c.req.param('id');
    const timeoutS = Math.min(MAX_TIMEOUT_S, Number(c.req.query('timeout') ?? 0));
    // Waits before it looks, so that no end in between is missed.
    const end = waiting.forEndOf(id, timeoutS * 1000);
    try {
      let task = await backend.read(id);
      if (!task) return c.json({ error: 'no such task' }, 404);
      if (task.state === 'PENDING' && (await end.came)) task = (await backend.read(id)) ?? task;
      return c.json({ id, ...task }, task.state === 'PENDING' ? 202 : 200);
    } finally {
      end.forget();
    }
  });
  app.get('/stats', async (c) => c.json({ ended: (await backend.countEnded?.()) ?? endedCount }));

  return new Promise((resolve) => {
    const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => {
      const ended = (id: string) => {
        endedCount++;
        waiting.tell(id);
      };
      resolve({ server, port, ended });
    }) as Front['server'];
    // The same as the hub: the connection of a slow client stays open.
    server.keepAliveTimeout = 65_000;
  });
}

class Waiting {
  readonly #byId = new Map<string, Set<(came: boolean) => void>>();

  forEndOf(id: string, timeoutMs: number): { came: Promise<boolean>; forget(): void } {
    const { promise, resolve } = withResolver();
    const timer = setTimeout(() => resolve(false), timeoutMs);
    const all = this.#byId.get(id) ?? new Set();
    this.#byId.set(id, all.add(resolve));
    const forget = () => {
      clearTimeout(timer);
      all.delete(resolve);
      if (all.size === 0 && this.#byId.get(id) === all) this.#byId.delete(id);
    };
    return { came: promise, forget };
  }

  tell(id: string): void {
    for (const resolve of this.#byId.get(id) ?? []) resolve(true);
  }
}

function withResolver(): { promise: Promise<boolean>; resolve(came: boolean): void } {
  let resolve: (came: boolean) => void = () => undefined;
  const promise = new Promise<boolean>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
