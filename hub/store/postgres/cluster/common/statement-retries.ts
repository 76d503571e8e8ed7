/** Repetition of statements while the database is away. */
import { pause } from '@workbench-hub/shared/runtime/pause';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import { DatabaseFault, storeError } from '../../connection/database-fault.js';
import { HOLD_MS, isFinal, retryDelays } from '../../connection/retry-policy.js';

export class StatementRetries {
  readonly #clock: Clock;
  readonly #timers: Timers;
  #awaySinceMs: number | undefined;

  constructor({ clock, timers }: { readonly clock: Clock; readonly timers: Timers }) {
    this.#clock = clock;
    this.#timers = timers;
  }

  /** Repeats work whose second run does no harm. `isRepeat`: an earlier run may have taken effect. Rejects with HubError
   *  `STORE_UNAVAILABLE` or `STORAGE_FULL`. */
  async run<T>(work: (isRepeat: boolean) => Promise<T>): Promise<T> {
    let isRepeat = false;
    const delays = retryDelays();
    for (;;) {
      try {
        const result = await work(isRepeat);
        this.#awaySinceMs = undefined;
        return result;
      } catch (error) {
        if (!(error instanceof DatabaseFault)) throw error;
        isRepeat ||= error.isOutcomeUnknown;
        if (isFinal(error) || this.#isOver()) throw storeError(error);
      }
      await pause(this.#timers, delays.nextMs());
    }
  }

  #isOver(): boolean {
    const nowMs = this.#clock.monotonicMs();
    this.#awaySinceMs ??= nowMs;
    return nowMs - this.#awaySinceMs >= HOLD_MS;
  }
}
