/** Numbers of the joins of an agent, by which hubs tell the latest from one that was delayed on its way. */
import type { Clock } from '../runtime/runtime.js';

export class JoinNumbers {
  readonly #clock: Clock;
  #latest = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A number greater than those before. It is the time, in milliseconds since 1970, so that it is greater than those of earlier starts of
   *  the agent, too, unless the clock was set back: then a hub refuses the join, and tells the latest number. */
  next(): number {
    this.#latest = Math.max(this.#latest + 1, Math.floor(this.#clock.nowMs()));
    return this.#latest;
  }

  /** A hub has heard of this number. */
  heardOf(joinNumber: number): void {
    this.#latest = Math.max(this.#latest, joinNumber);
  }
}
