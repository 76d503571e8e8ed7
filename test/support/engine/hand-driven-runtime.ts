import type { Runtime } from '@workbench-hub/shared/runtime/runtime';

interface Pending {
  readonly dueMs: number;
  readonly order: number;
  readonly action: () => void;
}

/** A runtime whose time stands still until the test advances it. Actions of `soon` run by themselves, as in production. */
export class HandDrivenRuntime implements Runtime {
  #timeMs = 0;
  #startMs: number;
  #order = 0;
  #ids = 0;
  #soon = 0;
  #timers = new Set<Pending>();

  /** Begins at this time, in milliseconds since 1970. */
  constructor(startMs = Date.UTC(2026, 10, 21, 6, 53)) {
    this.#startMs = startMs;
  }

  readonly clock = {
    nowMs: () => this.#startMs + this.#timeMs,
    monotonicMs: () => this.#timeMs,
  };

  readonly timers = {
    after: (delayMs: number, action: () => void) => {
      const pending: Pending = { dueMs: this.#timeMs + delayMs, order: ++this.#order, action };
      this.#timers.add(pending);
      return { cancel: () => void this.#timers.delete(pending) };
    },
    soon: (action: () => void) => {
      this.#soon++;
      setImmediate(() => {
        this.#soon--;
        action();
      });
    },
  };

  random(): number {
    return 0.5;
  }

  newId(): string {
    return `019aa4f2-6d3c-7c41-9f0e-${(++this.#ids).toString(16).padStart(12, '0')}`;
  }

  /** Number of timers that are set. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** Lets the clock jump; timers that are due by then run at the next {@link advance}. */
  skip(byMs: number): void {
    this.#timeMs += byMs;
  }

  /** Sets the wall clock. */
  setClock(byMs: number): void {
    this.#startMs += byMs;
  }

  /** Drops all timers, as the end of a process does. */
  dropTimers(): void {
    this.#timers.clear();
  }

  /** Waits for work of other threads, if there is any: see {@link settle}. */
  beside: (() => Promise<unknown>) | undefined;

  /** Resolves when nothing is left to run. Does not wait for files and sockets, except for `beside`. */
  async settle(): Promise<void> {
    do {
      await new Promise(setImmediate);
      if (this.#soon > 0) continue;
      await this.beside?.();
      await new Promise(setImmediate);
    } while (this.#soon > 0);
  }

  /** Lets this time pass: each timer runs at its time, and all that it starts is done before the next one. */
  async advance(byMs: number): Promise<void> {
    const untilMs = this.#timeMs + byMs;
    await this.settle();
    for (;;) {
      const next = [...this.#timers]
        .filter(({ dueMs }) => dueMs <= untilMs)
        .sort((a, b) => a.dueMs - b.dueMs || a.order - b.order)[0];
      if (!next) break;
      this.#timers.delete(next);
      this.#timeMs = Math.max(this.#timeMs, next.dueMs);
      next.action();
      await this.settle();
    }
    this.#timeMs = untilMs;
  }
}
