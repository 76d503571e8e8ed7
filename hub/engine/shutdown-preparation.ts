/**
 * Preparing a shutdown (contract 9.6): while it is initiated no task is taken and none is given out; running tasks end as
 * usual and waiting ones stay in the queue. It is not kept over a restart.
 */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { HubError } from '../core/errors.js';

export interface ShutdownStatus {
  readonly initiated: boolean;
  /** Milliseconds since 1970; null while it is not initiated. */
  readonly initiatedAtMs: number | null;
}

export class ShutdownPreparation {
  readonly #clock: Clock;
  readonly #subscribers: ((initiated: boolean) => void)[] = [];
  #initiatedAtMs: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Adds a subscriber, which hears when dispatching has to stop (true) or may go on (false). */
  subscribe(subscriber: (initiated: boolean) => void): void {
    this.#subscribers.push(subscriber);
  }

  get status(): ShutdownStatus {
    return { initiated: this.#initiatedAtMs !== null, initiatedAtMs: this.#initiatedAtMs };
  }

  /** Initiating anew leaves the first moment in place. */
  change(initiated: boolean): ShutdownStatus {
    if (initiated !== this.status.initiated) {
      this.#initiatedAtMs = initiated ? this.#clock.nowMs() : null;
      for (const subscriber of this.#subscribers) subscriber(initiated);
    }
    return this.status;
  }

  /** Throws SHUTDOWN_PREPARED while a shutdown is being prepared. */
  refuseNewTasks(): void {
    if (this.#initiatedAtMs === null) return;
    throw new HubError(
      'SHUTDOWN_PREPARED',
      'the hub is being prepared for a shutdown and takes no tasks; hand it in again after its restart',
    );
  }
}
