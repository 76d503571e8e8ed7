/** Slows down whoever tries passwords: after so many failures in a row for a name, within so long, nobody logs in by that
 *  name for a while, not even with the right password, which else would be the one answer that is different. */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { HubError } from '../../core/errors.js';

const MAX_FAILURES = 10;
const WITHIN_MS = 5 * 60_000;

/** More names than can fail within that time, at the rate at which passwords are tried; the oldest is forgotten. */
const MAX_NAMES = 20_000;

export class LoginThrottle {
  readonly #clock: Clock;
  /** When the latest attempts began that have failed, or are under way; oldest first. */
  readonly #attempts = new Map<string, number[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts an attempt as failed until {@link succeeded} says otherwise. Throws TOO_MANY_ATTEMPTS. */
  begin(username: string): void {
    this.refuse(username);
    this.note(username);
  }

  /** Counts as {@link begin} does an attempt that begins whether or not the name is closed. Those beyond the limit are not
   *  counted, so that the name stays closed no longer for them. */
  note(username: string): void {
    const nowMs = this.#clock.monotonicMs();
    const attempts = this.#recent(username, nowMs);
    if (attempts.length >= MAX_FAILURES) return;
    this.#attempts.delete(username);
    const [oldest] = this.#attempts.keys();
    if (this.#attempts.size >= MAX_NAMES && oldest !== undefined) this.#attempts.delete(oldest);
    this.#attempts.set(username, [...attempts, nowMs]);
  }

  /** Throws TOO_MANY_ATTEMPTS when no attempt may begin now. */
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
