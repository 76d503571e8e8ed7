/** A loop of passes, one at a time, for work that is done when something calls for it and that must not be done twice at once. */
import type { Timer, Timers } from './runtime.js';

export interface LoopOptions {
  readonly timers: Timers;
  /** One pass. Resolves with the milliseconds until the next, which a wake shortens; with nothing when only a wake begins another. */
  readonly pass: () => Promise<number | undefined> | Promise<void>;
  /** Takes note that a pass has rejected. Returns the milliseconds until the next, which no wake shortens. When it is left out, the
   *  rejection goes to those who wait for the pass, and to the process when nobody does. */
  readonly failed?: (error: unknown) => number;
  /** Whether it begins nothing before {@link Loop.start}. */
  readonly isStopped?: boolean;
}

interface Plan {
  readonly delayMs: number;
  readonly timer: Timer;
}

interface Waiter {
  resolve(): void;
  reject(error: unknown): void;
}

/** Delays that come before all others: at once, and after the events that are ready now. */
const NOW = -2;
const SOON = -1;

export class Loop {
  readonly #options: LoopOptions;
  /** Beginnings of the next pass, each planned later than the one before it and due earlier. */
  #plans: Plan[] = [];
  #passing: Promise<void> | undefined;
  /** Shortest delay of the wakes since the pass in progress began, or while the loop is stopped. */
  #askedMs: number | undefined;
  /** Whether the delay after a failure has not passed. */
  #isHeld = false;
  #isStopped: boolean;
  /** Those who wait for a pass that has not begun. */
  #waiters: Waiter[] = [];

  constructor(options: LoopOptions) {
    this.#options = options;
    this.#isStopped = options.isStopped ?? false;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Whether a pass is in progress. */
  get isPassing(): boolean {
    return this.#passing !== undefined;
  }

  /** Plans the first pass, at once or `firstInMs` from now, and earlier for a wake since a stop. */
  start(firstInMs?: number): void {
    this.#isStopped = false;
    const askedMs = this.#takeAsked();
    this.wake(firstInMs);
    if (askedMs !== undefined) this.#wakeIn(askedMs);
  }

  /** Begins a pass: at once, together with the other wakes of this turn, or within `delayMs`. During a pass, the delay counts from its
   *  end, and another pass follows; while the loop is stopped, from its start. */
  wake(delayMs?: number): void {
    this.#wakeIn(delayMs ?? NOW);
  }

  /** Begins a pass after the events that are ready now. */
  wakeSoon(): void {
    this.#wakeIn(SOON);
  }

  /** Resolves when a pass that began after this call has ended, and rejects as it does; rejects when the loop is stopped before. */
  passed(): Promise<void> {
    if (this.#isStopped) return Promise.reject(stopped());
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
      this.wake();
    });
  }

  /** Begins no further pass. Resolves when the one in progress has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelPlans();
    for (const { reject } of this.#waiters.splice(0)) reject(stopped());
    await this.#passing;
  }

  /** Stops, with a last pass after the one in progress. */
  async finish(): Promise<void> {
    this.#isStopped = true;
    this.#cancelPlans();
    while (this.#passing !== undefined) await this.#passing;
    this.#passing = this.#pass();
    await this.#passing;
  }

  #wakeIn(delayMs: number): void {
    if (this.#isHeld) return;
    if (this.#isStopped || this.#passing !== undefined)
      this.#askedMs = Math.min(this.#askedMs ?? delayMs, delayMs);
    else if (delayMs === NOW) this.#begin();
    else this.#plan(delayMs);
  }

  #plan(delayMs: number): void {
    const latest = this.#plans.at(-1);
    // One with a shorter delay was planned before, and so it is due before.
    if (latest && latest.delayMs <= delayMs) return;
    const { timers } = this.#options;
    const due = () => {
      this.#cancelPlans();
      this.#wakeIn(NOW);
    };
    const timer = delayMs === SOON ? soon(timers, due) : timers.after(delayMs, due);
    this.#plans.push({ delayMs, timer });
  }

  #cancelPlans(): void {
    for (const { timer } of this.#plans.splice(0)) timer.cancel();
    this.#isHeld = false;
  }

  #begin(): void {
    this.#cancelPlans();
    this.#passing = this.#passUnlessStopped();
  }

  async #passUnlessStopped(): Promise<void> {
    // Lets the other wakes of this turn join.
    await Promise.resolve();
    if (!this.#isStopped) return this.#pass();
    this.#passing = undefined;
  }

  async #pass(): Promise<void> {
    const { pass, failed } = this.#options;
    const waiters = this.#waiters.splice(0);
    this.#askedMs = undefined;
    let nextMs: number | undefined;
    let holdMs: number | undefined;
    try {
      const next = await pass();
      if (typeof next === 'number') nextMs = next;
      for (const { resolve } of waiters) resolve();
    } catch (error) {
      for (const { reject } of waiters) reject(error);
      if (failed) holdMs = failed(error);
      else if (waiters.length === 0) throw error;
    } finally {
      this.#passing = undefined;
      this.#goOn(nextMs, holdMs);
    }
  }

  /** Plans the pass after one that has ended. */
  #goOn(nextMs: number | undefined, holdMs: number | undefined): void {
    if (this.#isStopped) return;
    const askedMs = this.#takeAsked();
    if (holdMs !== undefined) {
      this.#plan(holdMs);
      this.#isHeld = true;
      return;
    }
    if (nextMs !== undefined) this.#plan(nextMs);
    if (askedMs !== undefined) this.#wakeIn(askedMs);
  }

  #takeAsked(): number | undefined {
    const askedMs = this.#askedMs;
    this.#askedMs = undefined;
    return askedMs;
  }
}

export interface PeriodicOptions {
  readonly timers: Timers;
  readonly pass: () => Promise<void>;
  /** Takes note that a pass has rejected; the process ends with the rejection when it is left out. */
  readonly failed?: (error: unknown) => void;
}

/** A loop with a pass every `everyMs`, counted from the end of the one before. */
export function periodicLoop(everyMs: number, { timers, pass, failed }: PeriodicOptions): Loop {
  return new Loop({
    timers,
    pass: async () => {
      await pass();
      return everyMs;
    },
    ...(failed && {
      failed: (error) => {
        failed(error);
        return everyMs;
      },
    }),
  });
}

function stopped(): Error {
  return new Error('the loop was stopped');
}

function soon(timers: Timers, action: () => void): Timer {
  let isCanceled = false;
  timers.soon(() => {
    if (!isCanceled) action();
  });
  return {
    cancel: () => {
      isCanceled = true;
    },
  };
}
