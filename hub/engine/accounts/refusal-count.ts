/** Count of the refusals of each address within a period, to bound attempts and log lines. */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';

export interface RefusalLimit {
  readonly max: number;
  readonly withinMs: number;
}

/** Addresses beyond this number share one count. */
const MAX_ADDRESSES = 1000;

interface Window {
  readonly beganMs: number;
  count: number;
}

export class RefusalCount {
  readonly #clock: Clock;
  readonly #limit: RefusalLimit;
  /** Oldest first. */
  readonly #windows = new Map<string | null, Window>();

  constructor(clock: Clock, limit: RefusalLimit) {
    this.#clock = clock;
    this.#limit = limit;
  }

  /** Counts one more refusal. */
  add(address: string | null): void {
    const window = this.#windowOf(address);
    if (window) window.count++;
    else this.#windows.set(this.#keyOf(address), { beganMs: this.#clock.monotonicMs(), count: 1 });
  }

  /** Seconds until requests of the address are accepted again; 0 for now. */
  waitS(address: string | null): number {
    const window = this.#windowOf(address);
    if (!window || window.count < this.#limit.max) return 0;
    return Math.max(1, Math.ceil((window.beganMs + this.#limit.withinMs - this.#clock.monotonicMs()) / 1000));
  }

  #windowOf(address: string | null): Window | undefined {
    const nowMs = this.#clock.monotonicMs();
    for (const [key, { beganMs }] of this.#windows) {
      if (beganMs + this.#limit.withinMs > nowMs) break;
      this.#windows.delete(key);
    }
    return this.#windows.get(this.#keyOf(address));
  }

  #keyOf(address: string | null): string | null {
    return this.#windows.size < MAX_ADDRESSES || this.#windows.has(address) ? address : null;
  }
}
