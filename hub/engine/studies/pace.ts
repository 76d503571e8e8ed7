/** Pace of a study: how many of its points have ended lately. */

/** Time over which ends are counted. */
const WINDOW_MS = 1000;

export class Pace {
  /** Times of the latest ends, in no order. */
  #endedAtMs: readonly number[] = [];

  /** Takes note of the times at which points have ended. */
  add(endedAtMs: readonly number[], nowMs: number): void {
    this.#endedAtMs = [...this.#endedAtMs, ...endedAtMs].filter((atMs) => isRecent(atMs, nowMs));
  }

  /** Number of points that end in `durationMs` if they go on at this pace. */
  endsIn(durationMs: number, nowMs: number): number {
    const count = this.#endedAtMs.filter((atMs) => isRecent(atMs, nowMs)).length;
    return Math.floor((count * durationMs) / WINDOW_MS);
  }
}

function isRecent(atMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - atMs) < WINDOW_MS;
}
