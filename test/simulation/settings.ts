/** Settings of the hub in the simulated world that invariants and defects know of. */

/** No timer of anything else takes exactly as long. */
export const LEASE_MS = 60_007;
export const LIMITS = { maxAttempts: 3, maxLosses: 4 };
