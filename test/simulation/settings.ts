/** Settings of the hub in the simulated world that invariants and defects know of. */

/** No timer of anything else takes exactly as long. */
export const LEASE_MS = 60_007;
/** In some worlds ended tasks are kept for so long only, and agents that are away; in the others nothing is old enough. */
export const KEPT_SHORTLY_MS = 120_000;
export const KEPT_LONG_MS = 30 * 86_400_000;
/** How long agents that are stopped let tasks go on; each agent has one of these. */
export const DRAIN_TIMEOUTS_MS = [0, 5003, 45_011];
export const LIMITS = { maxAttempts: 3, maxLosses: 4 };
/** So few that a few waiting tasks are more than that. */
export const HEADS_OF_POOL = 2;
