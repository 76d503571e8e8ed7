/** Limits that hold in every store. */

/** References to a content that are looked at. */
export const MAX_REFERENCES = 2000;

/** Total length of the requirement keys whose row ids a store keeps in memory; beyond, it forgets them. */
export const MAX_CACHED_CHARACTERS = 4_000_000;

/** Rows that a sweep removes in one transaction, so that it never blocks the hub for long. */
export const SWEEP_BATCH = 500;
