/** Repetition of statements while the database is away. */
import { pause } from '@workbench-hub/shared/runtime/pause';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import { DatabaseFault, type DatabaseFaultKind, storeError } from '../../connection/database-fault.js';

/** Time for which statements are repeated while the database is away; from then on each is tried once. */
const HOLD_MS = 10_000;
const FIRST_RETRY_MS = 20;
const MAX_RETRY_MS = 1000;

/** Faults of which repeating is no remedy. */
const FINAL_FAULTS: ReadonlySet<DatabaseFaultKind> = new Set(['REFUSED', 'FULL_DISK', 'NO_RIGHTS']);

export class Patience {
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
    for (let retryMs = FIRST_RETRY_MS; ; retryMs = Math.min(retryMs * 2, MAX_RETRY_MS)) {
      try {
        const result = await work(isRepeat);
        this.#awaySinceMs = undefined;
        return result;
      } catch (error) {
        if (!(error instanceof DatabaseFault)) throw error;
        isRepeat ||= error.isOutcomeUnknown;
        if (FINAL_FAULTS.has(error.kind) || this.#isOver()) throw storeError(error);
      }
      await pause(this.#timers, retryMs);
    }
  }

  #isOver(): boolean {
    const nowMs = this.#clock.monotonicMs();
    this.#awaySinceMs ??= nowMs;
    return nowMs - this.#awaySinceMs >= HOLD_MS;
  }
}
