/**
 * Shutdown preparation (contract 9.6): while it is initiated, no task is accepted or dispatched; running tasks end as usual and
 * waiting ones stay in the queue. A restart ends it.
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

  /** Adds a subscriber, which is called when dispatching has to stop (true) or may continue (false). */
  subscribe(subscriber: (initiated: boolean) => void): void {
    this.#subscribers.push(subscriber);
  }

  get status(): ShutdownStatus {
    return { initiated: this.#initiatedAtMs !== null, initiatedAtMs: this.#initiatedAtMs };
  }

  /** Initiating it again keeps the first timestamp. */
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
      'the hub is being prepared for a shutdown and accepts no tasks; submit the task again after the restart',
    );
  }
}
