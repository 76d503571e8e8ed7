/** Pace of a study: how many of its points have ended lately. */

/** Time over which ends are counted. */
const WINDOW_MS = 1000;

interface Ends {
  readonly atMs: number;
  readonly count: number;
}

export class Pace {
  #latest: readonly Ends[] = [];

  /** Takes note of points that have ended at this time of the monotonic clock. */
  add(count: number, atMs: number): void {
    if (count > 0) this.#latest = [...this.#since(atMs), { atMs, count }];
  }

  /** Number of points that end in `durationMs` if they go on at this pace. */
  endsIn(durationMs: number, nowMs: number): number {
    const ended = this.#since(nowMs).reduce((sum, { count }) => sum + count, 0);
    return Math.floor((ended * durationMs) / WINDOW_MS);
  }

  #since(nowMs: number): readonly Ends[] {
    return this.#latest.filter(({ atMs }) => nowMs - atMs < WINDOW_MS);
  }
}
