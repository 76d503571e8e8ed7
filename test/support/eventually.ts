/** Pause before the second look; short, because most facts are true within a few milliseconds. */
const FIRST_PAUSE_MS = 5;
/** Growth of the pauses, so that a long wait takes no time from those that it waits for. */
const PAUSE_GROWTH = 1.25;
const LONGEST_PAUSE_MS = 50;

/** Waits until `look` returns neither undefined nor false and does not throw, and returns the value. After `timeoutMs` it
 *  fails with the last error of `look`. */
export async function eventually<T>(
  look: () => T | Promise<T>,
  timeoutMs = 60_000,
): Promise<Exclude<T, undefined | false>> {
  const giveUpAt = performance.now() + timeoutMs;
  let pauseMs = FIRST_PAUSE_MS;
  for (;;) {
    let failure: unknown = new Error(`not true within ${timeoutMs} ms`);
    try {
      const found = await look();
      if (found !== undefined && found !== false) return found as Exclude<T, undefined | false>;
    } catch (error) {
      failure = error;
    }
    if (performance.now() > giveUpAt) throw failure;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    pauseMs = Math.min(pauseMs * PAUSE_GROWTH, LONGEST_PAUSE_MS);
  }
}
