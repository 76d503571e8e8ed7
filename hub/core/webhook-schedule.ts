/** When a delivery is tried again. */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Delay after the first failed try, the second one, and so on; after the last one it stays the same. */
const DELAYS_MS = [
  5000,
  30_000,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  30 * MINUTE_MS,
  HOUR_MS,
  2 * HOUR_MS,
  4 * HOUR_MS,
];

/** Share by which a delay varies, so that deliveries that failed together are not tried together. */
const VARIATION = 0.2;

/** Longest time from a try to the next one: a later next try was stored before the clock was set back. */
export const MAX_DELAY_MS = 5 * HOUR_MS;

/** Delay before the next try after so many failed ones; `random` is from 0 to 1. */
export function retryDelayMs(tries: number, random: number): number {
  const delayMs = DELAYS_MS[Math.min(Math.max(tries, 1), DELAYS_MS.length) - 1] as number;
  return Math.round(delayMs * (1 + VARIATION * (2 * random - 1)));
}

/** Longest pause of a receiver that is down, and the one after its first failure. */
const MAX_PAUSE_MS = MINUTE_MS;
const FIRST_PAUSE_MS = 1000;

/** Longest pause that a receiver may ask for. */
const MAX_ASKED_PAUSE_MS = HOUR_MS;

/** Time for which a receiver gets nothing after so many failures in a row. */
export function receiverPauseMs(failures: number, askedMs: number): number {
  const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), MAX_PAUSE_MS);
  return Math.max(pauseMs, Math.min(askedMs, MAX_ASKED_PAUSE_MS));
}
