/** Counts how often requests of an address were refused within a while, so that nobody tries, or fills the log, without end. */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';

export interface RefusalLimit {
  readonly max: number;
  readonly withinMs: number;
}

/** More addresses than these are not told apart. */
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
    else this.#windows.set(this.#known(address), { beganMs: this.#clock.monotonicMs(), count: 1 });
  }

  /** After how many seconds the address is again heard; 0: at once. */
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
    return this.#windows.get(this.#known(address));
  }

  #known(address: string | null): string | null {
    return this.#windows.size < MAX_ADDRESSES || this.#windows.has(address) ? address : null;
  }
}
