/**
 * Unreachable is not lost. An agent that is away keeps its tasks for the lease; only then are they given out again.
 * The lease of an agent that the hub has not seen since its own start begins at that start.
 */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Timer, Timers } from '@workbench-hub/shared/runtime/runtime';
import type { TaskQueue } from '../core/ports/task-store.js';
import type { Attempts } from './attempts.js';
import type { Instances } from './instances.js';

export interface LeasesOptions {
  readonly queue: TaskQueue;
  readonly attempts: Attempts;
  readonly instances: Instances;
  readonly timers: Timers;
  readonly log: Logger;
  readonly leaseTimeoutMs: number;
}

/** After a fault of the store, how long until the next try. */
const RETRY_MS = 5000;

export class Leases {
  readonly #options: LeasesOptions;
  readonly #timers = new Map<string, Timer>();

  constructor(options: LeasesOptions) {
    this.#options = options;
  }

  /** Begins the lease of every agent that has running tasks in the store. */
  async start(): Promise<void> {
    for (const agentId of await this.#options.queue.agentsWithRunning()) this.begin(agentId);
  }

  stop(): void {
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
  }

  /** The agent is away from now on. */
  begin(agentId: string): void {
    this.#expireAfter(agentId, this.#options.leaseTimeoutMs);
  }

  /** The agent is back. */
  end(agentId: string): void {
    this.#timers.get(agentId)?.cancel();
    this.#timers.delete(agentId);
  }

  #expireAfter(agentId: string, delayMs: number): void {
    this.end(agentId);
    this.#timers.set(
      agentId,
      this.#options.timers.after(delayMs, () => {
        this.#timers.delete(agentId);
        this.#expire(agentId).catch((error: unknown) => {
          this.#options.log.error(
            { err: error, agentId },
            `ending a lease failed; next try in ${RETRY_MS} ms`,
          );
          this.#expireAfter(agentId, RETRY_MS);
        });
      }),
    );
  }

  async #expire(agentId: string): Promise<void> {
    const { instances } = this.#options;
    // One of which the hub knows only by its tasks was never there.
    if (instances.findAgent(agentId)) instances.lost(agentId);
    const tasks = await this.#options.queue.runningOn(agentId);
    if (tasks.length === 0 || instances.isConnected(agentId)) return;
    this.#options.log.warn({ agentId, tasks: tasks.length }, 'agent is lost: its lease is over');
    const reason = `agent ${agentId} was not heard of for ${this.#options.leaseTimeoutMs / 1000} s`;
    await Promise.all(tasks.map((task) => this.#options.attempts.lose(task, 'LOSS', reason)));
  }
}
