/**
 * Attempts that the scheduler gave to an agent that joined again without them: sent to its former connection, maybe after the agent's hub had
 * compared its attempts with the rows. Their instances stay occupied until the agent is ready; those that still run then are told once more.
 */
import { type AttemptRef, attemptKey, sameAttempt } from '@workbench-hub/shared/domain/task';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { claimedTasks } from '../../core/claimed-tasks.js';
import type { SignalListener, Signals } from '../../core/ports/signals.js';
import type { TaskArchive } from '../../core/ports/task-archive.js';
import type { Instances } from './instances.js';

export interface DoubtedAttemptsOptions {
  readonly archive: Pick<TaskArchive, 'find' | 'jobOf' | 'checkpointOf'>;
  readonly instances: Pick<Instances, 'attemptsOf' | 'occupy' | 'release'>;
  readonly signals: Pick<Signals, 'tell'>;
  readonly log: Logger;
}

export class DoubtedAttempts {
  readonly #options: DoubtedAttemptsOptions;
  /** By agent, from its joining until it is ready. */
  readonly #doubted = new Map<string, readonly AttemptRef[]>();
  #isScheduling = false;

  constructor(options: DoubtedAttemptsOptions) {
    this.#options = options;
  }

  /** Begins with the term of the scheduler. */
  start(): void {
    this.#isScheduling = true;
  }

  stop(): void {
    this.#isScheduling = false;
    this.#doubted.clear();
  }

  /** Listener that hears before the views of the instances change. */
  readonly beforeViews: SignalListener = {
    JOINED: ({ agent, running, spooled }) => {
      this.#doubted.delete(agent.id);
      if (!this.#isScheduling || spooled === undefined) return;
      const held = new Set([...running, ...spooled].map(attemptKey));
      const doubted = this.#options.instances
        .attemptsOf(agent.id)
        .filter((ref) => !held.has(attemptKey(ref)));
      if (doubted.length > 0) this.#doubted.set(agent.id, doubted);
    },
  };

  readonly onSignal: SignalListener = {
    JOINED: ({ agent, running }) => {
      const busy = new Set(running.map(({ instanceId }) => instanceId));
      for (const ref of this.#doubted.get(agent.id) ?? [])
        if (!busy.has(ref.instanceId)) this.#options.instances.occupy(agent.id, ref);
    },
    READY: ({ agentId }) => {
      const doubted = this.#doubted.get(agentId);
      if (doubted === undefined) return;
      this.#doubted.delete(agentId);
      this.#clear(agentId, doubted).catch((error: unknown) => {
        const { instances, log } = this.#options;
        for (const ref of doubted) instances.release(agentId, ref);
        log.error({ err: error, agentId }, 'attempts that an agent may not have could not be read');
      });
    },
  };

  async #clear(agentId: string, doubted: readonly AttemptRef[]): Promise<void> {
    const { archive, instances, signals } = this.#options;
    const claimed = await claimedTasks(
      archive,
      doubted.map(({ taskId }) => taskId),
    );
    for (const ref of doubted) {
      const task = claimed.find((each) => each.agentId === agentId && sameAttempt(each.ref, ref));
      if (task) signals.tell({ kind: 'ASSIGNED', claimed: task, startedAtMs: task.task.startedAtMs ?? 0 });
      else instances.release(agentId, ref);
    }
  }
}
