/** Throttle against password guessing: after a number of consecutive failures for a name within a period, logins by
 *  that name are refused for a while, even with the right password, whose different response would reveal it. */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { HubError } from '../../core/errors.js';

const MAX_FAILURES = 10;
const WITHIN_MS = 5 * 60_000;

/** Maximum tracked names, more than can fail within the period; the oldest is forgotten. */
const MAX_NAMES = 20_000;

export class LoginThrottle {
  readonly #clock: Clock;
  /** Start times of recent failed or pending attempts, oldest first. */
  readonly #attempts = new Map<string, number[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts an attempt as failed until {@link succeeded} is called. Throws TOO_MANY_ATTEMPTS. */
  begin(username: string): void {
    this.refuse(username);
    this.note(username);
  }

  /** Counts an attempt that begins even when the name is blocked. Attempts beyond the limit are not
   *  counted and do not prolong the block. */
  note(username: string): void {
    const nowMs = this.#clock.monotonicMs();
    const attempts = this.#recent(username, nowMs);
    if (attempts.length >= MAX_FAILURES) return;
    this.#attempts.delete(username);
    const [oldest] = this.#attempts.keys();
    if (this.#attempts.size >= MAX_NAMES && oldest !== undefined) this.#attempts.delete(oldest);
    this.#attempts.set(username, [...attempts, nowMs]);
  }

  /** Throws TOO_MANY_ATTEMPTS while the name is blocked. */
  refuse(username: string): void {
    const nowMs = this.#clock.monotonicMs();
    const attempts = this.#recent(username, nowMs);
    const [first] = attempts;
    if (first === undefined || attempts.length < MAX_FAILURES) return;
    const retryAfterS = Math.max(1, Math.ceil((first + WITHIN_MS - nowMs) / 1000));
    throw new HubError(
      'TOO_MANY_ATTEMPTS',
      `too many attempts to log in by this name: try again in ${retryAfterS} s`,
      { retryAfterS },
    );
  }

  succeeded(username: string): void {
    this.#attempts.delete(username);
  }

  #recent(username: string, nowMs: number): number[] {
    return (this.#attempts.get(username) ?? []).filter((beganMs) => beganMs + WITHIN_MS > nowMs);
  }
}
