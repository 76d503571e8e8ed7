/** Rate limit of session refreshes: as many as 50 reloads of several tabs at once, then one a second. */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { HubError } from '../../core/errors.js';

/** Burst of refreshes. */
const BURST = 100;
const PER_SECOND = 1;

/** A repeated refresh writes nothing to the disk. */
const COST = { CURRENT: 1, JUST_SPENT: 0.05 } as const;

/** Maximum tracked sessions; the least recently refreshed one is forgotten. */
const MAX_SESSIONS = 20_000;

interface Ahead {
  readonly refreshes: number;
  readonly atMs: number;
}

export class RefreshRate {
  readonly #clock: Clock;
  /** Refreshes by session, the least recently refreshed first. */
  readonly #ahead = new Map<string, Ahead>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Number of sessions that are remembered. */
  get sessions(): number {
    return this.#ahead.size;
  }

  /** Counts a refresh. Throws TOO_MANY_REFRESHES, without counting it, beyond the rate. */
  count(sessionId: string, standing: keyof typeof COST): void {
    const atMs = this.#clock.monotonicMs();
    const before = this.#ahead.get(sessionId);
    const passedS = before === undefined ? 0 : (atMs - before.atMs) / 1000;
    const refreshes = Math.max(0, (before?.refreshes ?? 0) - passedS * PER_SECOND) + COST[standing];
    if (refreshes > BURST) {
      const retryAfterS = Math.ceil((refreshes - BURST) / PER_SECOND);
      throw new HubError(
        'TOO_MANY_REFRESHES',
        `the session is refreshed too often: use the access token until it expires, and try again in ${retryAfterS} s`,
        { retryAfterS },
      );
    }
    this.#ahead.delete(sessionId);
    this.#forget(atMs);
    this.#ahead.set(sessionId, { refreshes, atMs });
  }

  /** Forgets sessions that may refresh as if they never had, and one when there are too many. */
  #forget(nowMs: number): void {
    for (const [oldest, { refreshes, atMs }] of this.#ahead) {
      const isOver = refreshes <= ((nowMs - atMs) / 1000) * PER_SECOND;
      if (!isOver && this.#ahead.size < MAX_SESSIONS) break;
      this.#ahead.delete(oldest);
    }
  }
}
