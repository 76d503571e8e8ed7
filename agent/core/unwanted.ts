/** The end of an agent that its hub does not want any more, such as one of an allocation that is over for the hub. */

/** Time for which hubs refuse its credential. */
const UNWANTED_AFTER_MS = 180_000;

export const UNWANTED = 'its hub refuses its credential, and its time has an end (stopAfter)';

/** Whether an agent stops that no hub has taken for this time because of its credential. One without an end waits for a better one. */
export function isUnwanted({ stopAfter }: { readonly stopAfter: number | null }, forMs: number): boolean {
  return stopAfter !== null && forMs >= UNWANTED_AFTER_MS;
}
