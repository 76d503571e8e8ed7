import type { Timer, Timers } from '@workbench-hub/shared/runtime/runtime';

/** A pause of a loop, which can be ended early. */
export class WakeableDelay {
  readonly #timers: Timers;
  #end: (() => void) | undefined;
  #timer: Timer | undefined;
  #isAwake = false;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** Resolves after the delay or at {@link wake}; at once when that was called since the last pause. */
  wait(delayMs: number): Promise<void> {
    if (this.#isAwake) {
      this.#isAwake = false;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      this.#end = resolve;
      this.#timer = this.#timers.after(Math.max(0, delayMs), () => this.#over());
    });
  }

  wake(): void {
    if (this.#end) this.#over();
    else this.#isAwake = true;
  }

  #over(): void {
    this.#timer?.cancel();
    const end = this.#end;
    this.#end = undefined;
    end?.();
  }
}
