/** Stored times by the clock that is never set. The wall clock counts at the moment at which one is seen first, and not after it. */
import type { Clock } from './runtime.js';

interface Seen {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

export class SteadyTimes {
  readonly #clock: Clock;
  readonly #seen = new Map<string, Map<string, Seen>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  reset(): void {
    this.#seen.clear();
  }

  /** Forgets the times of all others. */
  keep(ids: ReadonlySet<string>): void {
    for (const id of this.#seen.keys()) if (!ids.has(id)) this.#seen.delete(id);
  }

  /** Time since something that has happened to the one with this id at `wallMs`. */
  sinceMs(id: string, what: string, wallMs: number): number {
    const atMs = this.#monotonicMsOf(id, what, wallMs, this.#clock.monotonicMs());
    return this.#clock.monotonicMs() - atMs;
  }

  /** Time until something that happens to it at `wallMs`. */
  untilMs(id: string, what: string, wallMs: number): number {
    const atMs = this.#monotonicMsOf(id, what, wallMs, Number.POSITIVE_INFINITY);
    return atMs - this.#clock.monotonicMs();
  }

  /** A time by the clock that is never set, at `latestMs` at most when it is seen first. */
  #monotonicMsOf(id: string, what: string, wallMs: number, latestMs: number): number {
    const ofId = this.#seen.get(id) ?? new Map<string, Seen>();
    this.#seen.set(id, ofId);
    const known = ofId.get(what);
    if (known?.wallMs === wallMs) return known.monotonicMs;
    const leftMs = wallMs - this.#clock.nowMs();
    const monotonicMs = Math.min(this.#clock.monotonicMs() + leftMs, latestMs);
    ofId.set(what, { wallMs, monotonicMs });
    return monotonicMs;
  }
}
