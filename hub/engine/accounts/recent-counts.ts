/** Counts of recent events by key. */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';

/** Time without events after which a count starts again. */
const FORGOTTEN_AFTER_MS = 10 * 60_000;

/** Maximum keys; the least recently counted one is forgotten. */
const MAX_KEYS = 10_000;

export class RecentCounts {
  readonly #clock: Clock;
  /** Least recently counted first. */
  readonly #counts = new Map<string, { readonly count: number; readonly atMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  of(key: string): number {
    const found = this.#counts.get(key);
    return found && found.atMs + FORGOTTEN_AFTER_MS > this.#clock.monotonicMs() ? found.count : 0;
  }

  add(key: string): void {
    const count = this.of(key) + 1;
    this.#counts.delete(key);
    const [oldest] = this.#counts.keys();
    if (this.#counts.size >= MAX_KEYS && oldest !== undefined) this.#counts.delete(oldest);
    this.#counts.set(key, { count, atMs: this.#clock.monotonicMs() });
  }

  delete(key: string): void {
    this.#counts.delete(key);
  }
}
