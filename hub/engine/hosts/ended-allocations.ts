/**
 * Allocations that are over. Their tasks wait again, which costs no attempt, the drain of the agent ends, and it is forgotten, as soon as the agent is
 * silent. Its credential is not valid any more.
 */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { type Allocation, endedByItself, isOpen } from '../../core/hosts/allocation.js';
import type { Allocations } from '../../core/ports/allocations.js';
import type { Presence } from '../../core/ports/presence.js';
import type { TaskQueue } from '../../core/ports/task-queue.js';
import type { Task } from '../../core/task.js';
import type { AgentDrains } from '../agents/agent-drains.js';
import type { Attempts } from '../agents/attempts.js';
import type { Instances } from '../instances/instances.js';

export interface EndedAllocationsOptions {
  readonly allocations: Pick<Allocations, 'find'>;
  readonly queue: Pick<TaskQueue, 'running' | 'runningOn'>;
  readonly attempts: Pick<Attempts, 'lose'>;
  readonly drains: Pick<AgentDrains, 'undrain'>;
  readonly presence: Pick<Presence, 'forget'>;
  readonly instances: Pick<
    Instances,
    'agents' | 'findAgent' | 'forget' | 'isConnected' | 'drains' | 'drainOf'
  >;
  readonly log: Logger;
}

/** Returns of a task after which the end of a job by itself, with its host, counts as a loss. */
const RETURNS_AT_NO_COST = 10;

export class EndedAllocations {
  readonly #options: EndedAllocationsOptions;
  /** Those that are not settled yet, by id. */
  readonly #unsettled = new Map<string, Allocation>();
  #term = 0;

  constructor(options: EndedAllocationsOptions) {
    this.#options = options;
  }

  /** Finds those that were over when the last term ended, and not settled. `isKnownOpen` tells those that are open. Rejects as the store does. */
  async start(term: number, isKnownOpen: (id: string) => boolean): Promise<void> {
    const { queue, instances, allocations } = this.#options;
    this.#term = term;
    this.#unsettled.clear();
    const running = (await queue.running()).map(({ agentId }) => agentId);
    const known = instances.agents().map(({ id }) => id);
    const drained = [...instances.drains].map(({ agentId }) => agentId).filter((id) => !isKnownOpen(id));
    for (const id of new Set([...running, ...known, ...drained])) {
      const allocation = await allocations.find(id);
      if (allocation && !isOpen(allocation)) this.#unsettled.set(id, allocation);
    }
  }

  get areSettled(): boolean {
    return this.#unsettled.size === 0;
  }

  has(id: string): boolean {
    return this.#unsettled.has(id);
  }

  /** Takes an allocation that is over, and settles it if its agent is silent. Rejects as the store does; {@link settle} goes on then. */
  async add(allocation: Allocation): Promise<void> {
    this.#unsettled.set(allocation.id, allocation);
    await this.#settleOne(allocation);
  }

  /** Settles those whose agents are silent. Rejects as the store does; it may be repeated. */
  async settle(): Promise<void> {
    for (const allocation of [...this.#unsettled.values()]) await this.#settleOne(allocation);
  }

  async #settleOne(allocation: Allocation): Promise<void> {
    const { id } = allocation;
    const { queue, attempts, drains, presence, instances, log } = this.#options;
    if (instances.isConnected(id)) return;
    const tasks = await queue.runningOn(id);
    if (tasks.length > 0)
      log.warn({ allocation: id, tasks: tasks.length }, 'tasks of an allocation that is over wait again');
    const fence = { term: this.#term, awayAgentId: id };
    const reason = `the allocation ${id} is over`;
    await Promise.all(tasks.map((task) => attempts.lose(task, lossOf(task, allocation), reason, fence)));
    if ((await queue.runningOn(id)).length > 0) return;
    if (instances.drainOf(id)) await drains.undrain(id);
    // The row first: what rejects is done again.
    await presence.forget(id);
    if (instances.findAgent(id)) instances.forget(id);
    this.#unsettled.delete(id);
  }
}

/** Kind of loss of a task whose host is gone. It costs no attempt, but a task on whose hosts the job ended again and again may be the cause. */
function lossOf({ attempt, crashes, losses }: Task, allocation: Allocation): 'RETURN' | 'LOSS' {
  const returned = attempt - 1 - crashes - losses;
  return endedByItself(allocation) && returned >= RETURNS_AT_NO_COST ? 'LOSS' : 'RETURN';
}
