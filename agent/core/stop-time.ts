/** Time limits of a stop of the agent, one after the other. */

/** Time within which a stopping agent uploads checkpoints; an allocation has a minute from the stop of its agent to its end. */
export const CHECKPOINT_DELIVERY_MS = 30_000;
/** Delay between SIGTERM and SIGKILL for a program that does not end within its `stopTimeout`. */
export const KILL_AFTER_TERM_MS = 2000;

interface StopLimits {
  readonly stopTimeoutMs: number;
  readonly cancelTimeoutMs: number;
}

/** Longest time from the request to stop until the programs of these instances have ended and checkpoints are delivered. */
export function longestStopMs(drainTimeoutMs: number, instances: readonly StopLimits[]): number {
  const cancelMs = Math.max(0, ...instances.map(({ cancelTimeoutMs }) => cancelTimeoutMs));
  const stopMs = Math.max(0, ...instances.map(({ stopTimeoutMs }) => stopTimeoutMs));
  return drainTimeoutMs + cancelMs + stopMs + KILL_AFTER_TERM_MS + CHECKPOINT_DELIVERY_MS;
}
