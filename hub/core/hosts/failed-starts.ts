/** Failures of a recipe in a row, and the time of its next try. */
import type { Allocation } from './allocation.js';

/** Delay of the next try after the first failure; it doubles with each further one. */
const FIRST_DELAY_MS = 10_000;
const LONGEST_DELAY_MS = 30 * 60_000;
/** Failures in a row after which the recipe counts as paused. */
export const FAILURES_BEFORE_PAUSE = 3;

export interface FailedStarts {
  readonly count: number;
  /** The latest of them; null without any. */
  readonly message: string | null;
  readonly nextTryAtMs: number;
}

/** Failures since the last agent joined. An allocation that was ended before its start, or after its agent had joined, is none. `latest`: the latest
 *  allocations of the recipe that are over, in any order. */
export function failedStarts(latest: readonly Allocation[]): FailedStarts {
  const newestFirst = [...latest].sort((a, b) => (b.endedAtMs ?? 0) - (a.endedAtMs ?? 0));
  const joined = newestFirst.findIndex(({ joinedAtMs }) => joinedAtMs !== null);
  const failed = (joined < 0 ? newestFirst : newestFirst.slice(0, joined)).filter(isFailure);
  const [last] = failed;
  if (!last) return { count: 0, message: null, nextTryAtMs: 0 };
  const delayMs = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (failed.length - 1));
  return { count: failed.length, message: last.message, nextTryAtMs: (last.endedAtMs ?? 0) + delayMs };
}

function isFailure({ cause, joinedAtMs, startedAtMs }: Allocation): boolean {
  if (joinedAtMs !== null) return false;
  return cause === 'NOT_JOINED' || cause === 'REFUSED' || (cause === 'ENDED_EARLY' && startedAtMs !== null);
}
