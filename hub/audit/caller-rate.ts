/** Tells the callers that change much from those that change little: what one does beyond a pace is kept apart, so that it does
 *  not push out what others did. */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { AuditEntry } from '../core/ports/audit.js';

const WINDOW_MS = 3_600_000;

/** Entries of a caller within a window: with the largest of them, no more than 3 MiB. */
const MAX_OF_CALLER = 1000;

/** More callers than these are not told apart within a window. */
const MAX_CALLERS = 10_000;

export class CallerRate {
  readonly #clock: Clock;
  #windowBeganMs = Number.NEGATIVE_INFINITY;
  #entries = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts an entry; whether its caller is beyond the pace. */
  isExceeded(entry: AuditEntry): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs >= this.#windowBeganMs + WINDOW_MS) {
      this.#windowBeganMs = nowMs;
      this.#entries = new Map();
    }
    const caller = callerOf(entry);
    const key = this.#entries.size < MAX_CALLERS || this.#entries.has(caller) ? caller : 'all others';
    const count = (this.#entries.get(key) ?? 0) + 1;
    this.#entries.set(key, count);
    return count > MAX_OF_CALLER;
  }
}

/** By whom entries are counted. With the token that all agents share, anybody takes any agent's name. */
export function callerOf({ user, by }: Pick<AuditEntry, 'user' | 'by'>): string {
  if (by === 'AGENT_TOKEN') return 'agents by token';
  return by === 'AGENT_CREDENTIAL' ? `agent ${user}` : `user ${user}`;
}
