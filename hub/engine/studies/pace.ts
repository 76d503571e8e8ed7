/** Pace of a study: how many of its points have ended lately, and how long they took. */
import type { PointEnd } from '../../core/studies/study.js';

/** Time over which ends are counted. */
const WINDOW_MS = 1000;

type TimesOfPoint = Pick<PointEnd, 'startedAtMs' | 'endedAtMs'>;

interface Ends {
  readonly count: number;
  readonly ranMs: number;
}

export class Pace {
  /** The latest ends by their time. */
  #ends: ReadonlyMap<number, Ends> = new Map();

  /** Takes note of points that have ended. */
  add(points: readonly TimesOfPoint[], nowMs: number): void {
    const ends = new Map([...this.#ends].filter(([atMs]) => isRecent(atMs, nowMs)));
    for (const { startedAtMs, endedAtMs } of points) {
      const { count, ranMs } = ends.get(endedAtMs) ?? NONE;
      const tookMs = startedAtMs === null ? 0 : endedAtMs - startedAtMs;
      ends.set(endedAtMs, { count: count + 1, ranMs: ranMs + tookMs });
    }
    this.#ends = ends;
  }

  /** Number of points that end in `durationMs` if they go on at this pace. */
  endsIn(durationMs: number, nowMs: number): number {
    return Math.floor((this.#latest(nowMs).count * durationMs) / WINDOW_MS);
  }

  /** Number of points that one instance runs in `durationMs`, if they take as long as the latest; 0 when none has ended lately. */
  runIn(durationMs: number, nowMs: number): number {
    const { count, ranMs } = this.#latest(nowMs);
    // Times are whole milliseconds.
    return Math.floor((count * durationMs) / Math.max(ranMs, 1));
  }

  #latest(nowMs: number): Ends {
    const latest = [...this.#ends].filter(([atMs]) => isRecent(atMs, nowMs));
    return latest.reduce(
      (sum, [, { count, ranMs }]) => ({ count: sum.count + count, ranMs: sum.ranMs + ranMs }),
      NONE,
    );
  }
}

const NONE: Ends = { count: 0, ranMs: 0 };

function isRecent(atMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - atMs) < WINDOW_MS;
}
