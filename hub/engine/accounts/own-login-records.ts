/** Recent logins of a hub that has its store alone, in memory. */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import {
  delayAfter,
  FAILURES_COUNT_FOR_MS,
  type LoginRecords,
  MAX_FAILED_LOGINS,
} from '../../core/ports/login-records.js';
import { LoginLocations } from './login-locations.js';

/** Maximum tracked keys, more than can fail within the period; the one tried longest ago is forgotten. */
const MAX_KEYS = 20_000;

export function ownLoginRecords(clock: Clock): LoginRecords {
  const locations = new LoginLocations(clock);
  const attempts = new Attempts(clock);
  return {
    isKnown: async (username, location) => locations.has(username, location),
    delayMs: async (key) => attempts.delayMs(key),
    begin: async (key) => attempts.begin(key),
    succeeded: async (username, location, keys) => {
      for (const key of keys) attempts.forget(key);
      locations.add(username, location);
    },
    sweep: async () => undefined,
  };
}

class Attempts {
  readonly #clock: Clock;
  /** Start times of recent failed or pending attempts by key, oldest first. */
  readonly #began = new Map<string, number[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  delayMs(key: string): number {
    const nowMs = this.#clock.monotonicMs();
    return delayAfter(this.#recent(key, nowMs), nowMs);
  }

  begin(key: string): number {
    const nowMs = this.#clock.monotonicMs();
    const recent = this.#recent(key, nowMs);
    if (recent.length >= MAX_FAILED_LOGINS) return delayAfter(recent, nowMs);
    this.#began.delete(key);
    const [oldest] = this.#began.keys();
    if (this.#began.size >= MAX_KEYS && oldest !== undefined) this.#began.delete(oldest);
    this.#began.set(key, [...recent, nowMs]);
    return 0;
  }

  forget(key: string): void {
    this.#began.delete(key);
  }

  #recent(key: string, nowMs: number): number[] {
    return (this.#began.get(key) ?? []).filter((beganMs) => beganMs + FAILURES_COUNT_FOR_MS > nowMs);
  }
}
