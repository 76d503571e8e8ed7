/** Time, chance and identifiers: everything that a simulation replaces in order to replay a run from its seed. */

export interface Clock {
  /** Milliseconds since 1970; may jump when the machine's clock is set. For what people see. */
  nowMs(): number;
  /** Milliseconds since some fixed moment; never goes back. For deadlines and durations. */
  monotonicMs(): number;
}

export interface Timer {
  cancel(): void;
}

export interface Timers {
  /** Runs `action` once after `delayMs`. Does not keep the process alive. */
  after(delayMs: number, action: () => void): Timer;
  /** Runs `action` when what is ready now has been handled: gathers what happens in one turn of the event loop. */
  soon(action: () => void): void;
}

export interface Runtime {
  readonly clock: Clock;
  readonly timers: Timers;
  /** A number from 0 up to 1, 1 not included. */
  random(): number;
  /** A new identifier: UUIDv7 text, in the order of creation. */
  newId(): string;
}
