/**
 * Leases: a disconnected agent is unreachable, and keeps its tasks; when its lease ends it is lost, and they are requeued. The
 * lease of an agent that is disconnected when the term of the scheduler begins also begins then. What the end of a lease writes takes
 * place in its term, and while the agent is connected to no hub.
 */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Timer, Timers } from '@workbench-hub/shared/runtime/runtime';
import type { SignalListener } from '../core/ports/signals.js';
import type { RunningAttempt, TaskQueue } from '../core/ports/task-queue.js';
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

/** Delay of the next try after a failure of the store. */
const RETRY_MS = 5000;

export class Leases {
  readonly #options: LeasesOptions;
  readonly #timers = new Map<string, Timer>();
  readonly #expiring = new Set<Promise<void>>();
  #stopped = true;
  #term = 0;

  constructor(options: LeasesOptions) {
    this.#options = options;
  }

  readonly onSignal: SignalListener = {
    JOINED: ({ agent }) => this.end(agent.id),
    LEFT: ({ agentId }) => this.begin(agentId),
  };

  /** From now on, leases begin, in this term of the scheduler. */
  start(term: number): void {
    this.#stopped = false;
    this.#term = term;
  }

  /** Begins the leases of disconnected agents with running attempts, as far as they have none, and ends those of connected ones. */
  follow(running: readonly RunningAttempt[]): void {
    const { instances } = this.#options;
    for (const agentId of this.#timers.keys()) if (instances.isConnected(agentId)) this.end(agentId);
    for (const agentId of new Set(running.map((attempt) => attempt.agentId))) {
      if (!this.#timers.has(agentId) && !instances.isConnected(agentId)) this.begin(agentId);
    }
  }

  /** Ends all leases without consequences, and begins none until the next start; resolves when expiries under way have ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
    await Promise.all(this.#expiring);
  }

  /** The agent has disconnected. */
  begin(agentId: string): void {
    this.#expireAfter(agentId, this.#options.leaseTimeoutMs);
  }

  /** The agent has joined again. */
  end(agentId: string): void {
    this.#timers.get(agentId)?.cancel();
    this.#timers.delete(agentId);
  }

  #expireAfter(agentId: string, delayMs: number): void {
    this.end(agentId);
    if (this.#stopped) return;
    const timer = this.#options.timers.after(delayMs, () => {
      this.#timers.delete(agentId);
      const expiring = this.#expireOrRetry(agentId).finally(() => this.#expiring.delete(expiring));
      this.#expiring.add(expiring);
    });
    this.#timers.set(agentId, timer);
  }

  async #expireOrRetry(agentId: string): Promise<void> {
    try {
      await this.#expire(agentId);
    } catch (error) {
      this.#options.log.error({ err: error, agentId }, `ending a lease failed; next try in ${RETRY_MS} ms`);
      this.#expireAfter(agentId, RETRY_MS);
    }
  }

  async #expire(agentId: string): Promise<void> {
    const { instances, queue, attempts, log, leaseTimeoutMs } = this.#options;
    const term = this.#term;
    // An agent that is known only from its tasks has never joined.
    if (instances.findAgent(agentId)) instances.lost(agentId);
    const tasks = await queue.runningOn(agentId);
    const isOver = this.#stopped || this.#term !== term;
    if (tasks.length === 0 || isOver || instances.isConnected(agentId)) return;
    log.warn({ agentId, tasks: tasks.length }, 'agent is lost: its lease is over');
    const reason = `agent ${agentId} was unreachable for ${leaseTimeoutMs / 1000} s`;
    const fence = { term, awayAgentId: agentId };
    const areLost = await Promise.all(tasks.map((task) => attempts.lose(task, 'LOSS', reason, fence)));
    // The agent may have joined a hub of which nothing was heard, and which may be gone by then.
    if (areLost.includes(false) && !instances.isConnected(agentId)) this.#expireAfter(agentId, RETRY_MS);
  }
}
