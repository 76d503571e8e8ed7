/** Rate of entries by caller: entries beyond a limit are kept apart, so that they do not displace those of others. */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { AuditEntry } from '../core/ports/audit.js';

const WINDOW_MS = 3_600_000;

/** Entries of a caller within a window: at most 3 MiB of the largest ones. */
const MAX_OF_CALLER = 1000;

/** Maximum callers distinguished within a window. */
const MAX_CALLERS = 10_000;

export class CallerRate {
  readonly #clock: Clock;
  #windowBeganMs = Number.NEGATIVE_INFINITY;
  #entries = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts an entry; true when its caller is beyond the limit. */
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

/** Key by which entries are counted. With the join token, anybody can use any agent's name. */
export function callerOf({ user, by }: Pick<AuditEntry, 'user' | 'by'>): string {
  if (by === 'AGENT_TOKEN') return 'agents by token';
  if (by === 'UPSTREAM') return `upstream ${user}`;
  return by === 'AGENT_CREDENTIAL' ? `agent ${user}` : `user ${user}`;
}
