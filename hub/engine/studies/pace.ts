/** Pace of a study: how many of its points have ended lately, and how long they took. */
import type { PointEnd } from '../../core/studies/study.js';

/** Time over which ends are counted. */
const WINDOW_MS = 1000;

type TimesOfPoint = Pick<PointEnd, 'startedAtMs' | 'endedAtMs'>;

export class Pace {
  /** The latest ends, in no order. */
  #ends: readonly TimesOfPoint[] = [];

  /** Takes note of points that have ended. */
  add(ends: readonly TimesOfPoint[], nowMs: number): void {
    this.#ends = [...this.#ends, ...ends].filter(({ endedAtMs }) => isRecent(endedAtMs, nowMs));
  }

  /** Number of points that end in `durationMs` if they go on at this pace. */
  endsIn(durationMs: number, nowMs: number): number {
    return Math.floor((this.#latest(nowMs).length * durationMs) / WINDOW_MS);
  }

  /** Number of points that one instance runs in `durationMs`, if they take as long as the latest; 0 when none has ended lately. */
  runIn(durationMs: number, nowMs: number): number {
    const latest = this.#latest(nowMs);
    const ranMs = latest.reduce(
      (sum, { startedAtMs, endedAtMs }) => sum + endedAtMs - (startedAtMs ?? endedAtMs),
      0,
    );
    // Times are whole milliseconds.
    return Math.floor((latest.length * durationMs) / Math.max(ranMs, 1));
  }

  #latest(nowMs: number): readonly TimesOfPoint[] {
    return this.#ends.filter(({ endedAtMs }) => isRecent(endedAtMs, nowMs));
  }
}

function isRecent(atMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - atMs) < WINDOW_MS;
}
