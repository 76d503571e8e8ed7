/**
 * Leases: a disconnected agent is unreachable, and keeps its tasks; when its lease ends it is lost, and they are requeued. The
 * lease of an agent that is disconnected when the term of the scheduler begins also begins then. What the end of a lease writes takes
 * place in its term, and while the agent is connected to no hub.
 */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Timer, Timers } from '@workbench-hub/shared/runtime/runtime';
import type { SignalListener } from '../../core/ports/signals.js';
import type { RunningAttempt, TaskQueue } from '../../core/ports/task-queue.js';
import type { Instances } from '../instances/instances.js';
import type { Attempts } from './attempts.js';

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

/** One disconnection of an agent. Once it has ended by a join, nothing of it has consequences, although the agent may be away again. */
interface Lease {
  readonly agentId: string;
  timer: Timer | undefined;
}

export class Leases {
  readonly #options: LeasesOptions;
  readonly #leases = new Map<string, Lease>();
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
    for (const agentId of this.#leases.keys()) if (instances.isConnected(agentId)) this.end(agentId);
    for (const agentId of new Set(running.map((attempt) => attempt.agentId))) {
      if (!this.#leases.has(agentId) && !instances.isConnected(agentId)) this.begin(agentId);
    }
  }

  /** Ends all leases without consequences, and begins none until the next start; resolves when expiries under way have ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const { timer } of this.#leases.values()) timer?.cancel();
    this.#leases.clear();
    await Promise.all(this.#expiring);
  }

  /** The agent has disconnected. */
  begin(agentId: string): void {
    this.end(agentId);
    if (this.#stopped) return;
    const lease: Lease = { agentId, timer: undefined };
    this.#leases.set(agentId, lease);
    this.#expireAfter(lease, this.#options.leaseTimeoutMs);
  }

  /** The agent has joined again. */
  end(agentId: string): void {
    this.#leases.get(agentId)?.timer?.cancel();
    this.#leases.delete(agentId);
  }

  #isCurrent(lease: Lease): boolean {
    return this.#leases.get(lease.agentId) === lease;
  }

  #expireAfter(lease: Lease, delayMs: number): void {
    lease.timer = this.#options.timers.after(delayMs, () => {
      const expiring = this.#expireOrRetry(lease).finally(() => this.#expiring.delete(expiring));
      this.#expiring.add(expiring);
    });
  }

  async #expireOrRetry(lease: Lease): Promise<void> {
    const { agentId } = lease;
    try {
      const isOver = await this.#expire(lease);
      if (!this.#isCurrent(lease)) return;
      if (isOver) this.#leases.delete(agentId);
      else this.#expireAfter(lease, RETRY_MS);
    } catch (error) {
      if (!this.#isCurrent(lease)) return;
      this.#options.log.error({ err: error, agentId }, `ending a lease failed; next try in ${RETRY_MS} ms`);
      this.#expireAfter(lease, RETRY_MS);
    }
  }

  /** Gives whether the lease is over; otherwise it is to be tried again. */
  async #expire(lease: Lease): Promise<boolean> {
    const { agentId } = lease;
    const { instances, queue, attempts, log, leaseTimeoutMs } = this.#options;
    const term = this.#term;
    // An agent that is known only from its tasks has never joined.
    if (instances.findAgent(agentId)) instances.lost(agentId);
    const tasks = await queue.runningOn(agentId);
    const isEnded = !this.#isCurrent(lease) || this.#term !== term;
    if (tasks.length === 0 || isEnded || instances.isConnected(agentId)) return true;
    log.warn({ agentId, tasks: tasks.length }, 'agent is lost: its lease is over');
    const reason = `agent ${agentId} was unreachable for ${leaseTimeoutMs / 1000} s`;
    const fence = { term, awayAgentId: agentId };
    const areLost = await Promise.all(tasks.map((task) => attempts.lose(task, 'LOSS', reason, fence)));
    // The agent may have joined a hub of which nothing was heard, and which may be gone by then.
    return !areLost.includes(false) || instances.isConnected(agentId);
  }
}
