/** Recent logins, by which guesses of passwords are noticed, for all hubs of a store. All reject with HubError `STORE_UNAVAILABLE`. */

/** Failed or pending attempts of a key within {@link FAILURES_COUNT_FOR_MS} that are not refused. */
export const MAX_FAILED_LOGINS = 10;
export const FAILURES_COUNT_FOR_MS = 5 * 60_000;

/** Time for which a location of a user is remembered: a working day. */
export const LOCATION_REMEMBERED_MS = 12 * 3_600_000;
/** Locations of a user that are remembered; the one whose login is oldest is forgotten. */
export const MAX_LOCATIONS_OF_USER = 20;

export interface LoginRecords {
  /** Whether the user has logged in from this location lately. */
  isKnown(username: string, location: string): Promise<boolean>;
  /** Time in ms until a further attempt of this key counts; zero for now. */
  delayMs(key: string): Promise<number>;
  /** Counts an attempt of this key as failed; resolves with zero. Resolves with the time as {@link delayMs} does, and counts
   *  nothing, when as many count as may. */
  begin(key: string): Promise<number>;
  /** Forgets the attempts of these keys, and remembers the location of the user. */
  succeeded(username: string, location: string, keys: readonly string[]): Promise<void>;
  /** Removes what no longer counts. */
  sweep(): Promise<void>;
}

/** Time until a further attempt counts, by the start times of those that do, oldest first. */
export function delayAfter(beganMs: readonly number[], nowMs: number): number {
  const [first] = beganMs;
  if (first === undefined || beganMs.length < MAX_FAILED_LOGINS) return 0;
  return first + FAILURES_COUNT_FOR_MS - nowMs;
}
