/** Failures of a recipe in a row, and the time of its next try. */
import type { Allocation } from './allocation.js';

/** Delay of the next try after the first failure; it doubles with each further one. */
const FIRST_DELAY_MS = 10_000;
const LONGEST_DELAY_MS = 30 * 60_000;
/** Failures in a row after which the recipe counts as failing. */
export const FAILURES_BEFORE_PAUSE = 3;

export interface FailedStarts {
  /** Number of tries: allocations that were wanted together are one. */
  readonly count: number;
  /** The latest of them; null without any. */
  readonly message: string | null;
  readonly nextTryAtMs: number;
}

/** Failures since the last agent joined, or since an administrator has resumed the recipe. `known`: its allocations that are open, and the latest that
 *  are over, in any order. An allocation that the hub or an administrator has given back before its agent joined is no failure. Times after now are of a
 *  clock that was set back since, and count for nothing: nobody waits until it is there again. */
export function failedStarts(
  known: readonly Allocation[],
  { resumedAtMs, nowMs }: { readonly resumedAtMs: number | null; readonly nowMs: number },
): FailedStarts {
  const past = [resumedAtMs, ...known.map(({ joinedAtMs }) => joinedAtMs)].filter(
    (atMs) => atMs !== null && atMs <= nowMs,
  );
  const sinceMs = Math.max(0, ...past.map(Number));
  // Nothing is tried while one is canceled that did not start.
  const endOf = ({ endedAtMs }: Allocation) => endedAtMs ?? nowMs;
  const failed = known
    .filter((allocation) =>
      isCanceledStart(allocation, nowMs)
        ? allocation.wantedAtMs > sinceMs
        : isFailedStart(allocation) && endOf(allocation) > sinceMs && endOf(allocation) <= nowMs,
    )
    .sort((a, b) => endOf(a) - endOf(b));
  let count = 0;
  let triedUntilMs = Number.NEGATIVE_INFINITY;
  for (const allocation of failed) {
    if (allocation.wantedAtMs > triedUntilMs) {
      count++;
      triedUntilMs = endOf(allocation);
    }
  }
  const last = failed.at(-1);
  if (!last) return { count: 0, message: null, nextTryAtMs: 0 };
  const delayMs = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (count - 1));
  return { count, message: last.message, nextTryAtMs: endOf(last) + delayMs };
}

/** Whether it has not started, or its agent has not joined, and its job is not over as yet. A job that ran and cannot be ended counts for a while. */
function isCanceledStart({ state, cause, startedAtMs, joinedAtMs }: Allocation, nowMs: number): boolean {
  if (state !== 'DRAINING' || joinedAtMs !== null) return false;
  if (cause === 'NOT_JOINED') return startedAtMs !== null && nowMs - startedAtMs <= LONGEST_DELAY_MS;
  return cause === 'REFUSED';
}

/** Whether it is over before an instance of its agent was up, and nobody wanted that. */
export function isFailedStart({ cause, joinedAtMs, endedAtMs }: Allocation): boolean {
  return endedAtMs !== null && joinedAtMs === null && cause !== 'NOT_NEEDED' && cause !== 'ASKED';
}
