/** Draining of agents by an administrator, through this hub or a command beside it. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { periodicLoop } from '@workbench-hub/shared/runtime/loop';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import type { AgentDrainStore } from '../../core/ports/agent-drains.js';
import type { SignalListener, Signals } from '../../core/ports/signals.js';
import type { TaskQueue } from '../../core/ports/task-queue.js';
import type { Instances } from '../instances/instances.js';

export interface AgentDrainsOptions {
  readonly store: AgentDrainStore;
  readonly signals: Pick<Signals, 'tell' | 'caughtUp'>;
  readonly queue: Pick<TaskQueue, 'runningOn'>;
  readonly instances: Instances;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Logger;
}

/** Maximum delay until a change by a command takes effect. */
const REFRESH_INTERVAL_MS = 1000;

export class AgentDrains {
  readonly #options: AgentDrainsOptions;
  /** Reads and changes run one after the other, so that no older read replaces a newer one. */
  #latest: Promise<unknown> = Promise.resolve();

  constructor(options: AgentDrainsOptions) {
    this.#options = options;
  }

  /** Drains the agent, which need not be known. A drained one keeps its timestamp and name. Once the promise has resolved, nothing
   *  begins on the agent. */
  drain(agentId: string, by: string): Promise<void> {
    const { store, clock } = this.#options;
    return this.#change(async () => void (await store.drain({ agentId, sinceMs: clock.nowMs(), by })));
  }

  /** Lets the agent begin tasks again. */
  undrain(agentId: string): Promise<void> {
    return this.#change(async () => void (await this.#options.store.undrain(agentId)));
  }

  readonly onSignal: SignalListener = {
    DRAINS: () => void this.#refreshLater(),
    RESYNC: () => void this.#refreshLater(),
  };

  /** Number of tasks that run on the agent, also while it is disconnected. */
  async runningTasksOn(agentId: string): Promise<number> {
    return (await this.#options.queue.runningOn(agentId)).length;
  }

  /** Applies what the store holds. */
  refresh(): Promise<void> {
    return this.#inOrder(() => this.#read());
  }

  /** Resolves when reads and changes so far have been applied. Never rejects. */
  async settled(): Promise<void> {
    await this.#latest;
  }

  /** Applies changes of other processes until the returned function is called. Agents stay as they are while the store fails. */
  watch(): () => void {
    const { timers } = this.#options;
    const loop = periodicLoop(REFRESH_INTERVAL_MS, { timers, pass: () => this.#refreshLater() });
    loop.start(REFRESH_INTERVAL_MS);
    return () => void loop.stop();
  }

  #refreshLater(): Promise<void> {
    return this.refresh().catch((error: unknown) => {
      this.#options.log.error({ err: error }, 'the check for drained agents failed');
    });
  }

  #change(action: () => Promise<void>): Promise<void> {
    return this.#inOrder(async () => {
      const { signals } = this.#options;
      await action();
      await this.#read();
      signals.tell({ kind: 'DRAINS' });
      await signals.caughtUp();
    });
  }

  async #read(): Promise<void> {
    const { store, instances, log } = this.#options;
    const { drained, undrained } = instances.setDrains(await store.all());
    for (const { agentId, by } of drained) log.info({ agentId, by }, 'an agent is drained');
    for (const { agentId } of undrained) log.info({ agentId }, 'an agent is no longer drained');
  }

  #inOrder(action: () => Promise<void>): Promise<void> {
    const done = this.#latest.then(action);
    this.#latest = done.catch(() => undefined);
    return done;
  }
}
