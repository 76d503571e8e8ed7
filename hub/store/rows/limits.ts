/** Limits that hold in every store. */

/** Sessions of a user, which bound the disk space that logins can take. */
export const MAX_SESSIONS_OF_USER = 10_000;

/** Stored uploads that are remembered for one owner. */
export const MAX_STORED_UPLOADS = 100;

/** References to a content that are looked at. */
export const MAX_REFERENCES = 2000;

/** Total length of the requirement keys whose row ids a store keeps in memory; beyond, it forgets them. */
export const MAX_CACHED_CHARACTERS = 4_000_000;

/** Rows that a sweep removes in one transaction, so that it never blocks the hub for long. */
export const SWEEP_BATCH = 500;

/** Time in which a blob that is stored again is not written again. */
export const RECENT_MS = 60_000;
