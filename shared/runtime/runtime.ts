/** Time, randomness and identifiers: everything that a simulation replaces to replay a run from its seed. */

export interface Clock {
  /** Milliseconds since 1970; may jump when the clock is set. For timestamps. */
  nowMs(): number;
  /** Milliseconds since a fixed time; never goes back. For deadlines and durations. */
  monotonicMs(): number;
}

export interface Timer {
  cancel(): void;
}

export interface Timers {
  /** Runs `action` once after `delayMs`. Does not keep the process alive. */
  after(delayMs: number, action: () => void): Timer;
  /** Runs `action` after the events that are ready now: batches one turn of the event loop. */
  soon(action: () => void): void;
}

export interface Runtime {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Random number from 0 (inclusive) to 1 (exclusive). */
  random(): number;
  /** New UUIDv7, in the order of creation. */
  newId(): string;
}
