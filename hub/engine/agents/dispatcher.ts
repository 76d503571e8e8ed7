/** Dispatcher: sends tasks that were assigned to the agents of this hub, and requeues those whose agent has gone. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { SignalListener, Signals } from '../../core/ports/signals.js';
import type { ClaimedTask } from '../../core/ports/task-queue.js';
import type { TaskTransitions } from '../transitions/task-transitions.js';
import type { AgentSessions } from './agent-sessions.js';

export interface DispatcherOptions {
  readonly sessions: Pick<AgentSessions, 'assign'>;
  readonly transitions: Pick<TaskTransitions, 'started' | 'dispatchFailed'>;
  readonly signals: Pick<Signals, 'tell'>;
  readonly log: Logger;
}

export class Dispatcher {
  readonly #options: DispatcherOptions;

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  readonly onSignal: SignalListener = {
    ASSIGNED: ({ claimed, startedAtMs }) => {
      const { sessions, transitions } = this.#options;
      const outcome = sessions.assign(claimed);
      if (outcome === 'SENT') transitions.started(claimed, startedAtMs);
      else if (outcome === 'AWAY') this.#failed(claimed);
    },
  };

  #failed(claimed: ClaimedTask): void {
    const { transitions, signals, log } = this.#options;
    const { agentId, ref } = claimed;
    signals.tell({ kind: 'FREED', agentId, ref, coolsDown: false });
    transitions.dispatchFailed(claimed).catch((error: unknown) => {
      log.error({ err: error, ...ref }, 'a task that could not be dispatched could not be requeued');
    });
  }
}
