/** Settings of the simulated hub that invariants and defects use. */

/** Lease timeout; no other timer has exactly this delay. */
export const LEASE_MS = 60_007;
/** Retention of ended tasks and disconnected agents in some worlds; in the others nothing is old enough. */
export const KEPT_SHORTLY_MS = 120_000;
export const KEPT_LONG_MS = 30 * 86_400_000;
/** Drain timeouts; each agent has one of these. */
export const DRAIN_TIMEOUTS_MS = [0, 5003, 45_011];
export const LIMITS = { maxAttempts: 3, maxLosses: 4 };
/** Small, so that a few waiting tasks exceed it. */
export const HEADS_OF_POOL = 2;
