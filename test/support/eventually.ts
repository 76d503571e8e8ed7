/** How often {@link eventually} looks. Short, because what is waited for takes a few milliseconds as a rule. */
const LOOK_EVERY_MS = 5;

/** Waits until `look` gives something else than undefined or false without throwing, and gives that. After `timeoutMs`
 *  it fails with what `look` threw last. */
export async function eventually<T>(
  look: () => T | Promise<T>,
  timeoutMs = 10_000,
): Promise<Exclude<T, undefined | false>> {
  const giveUpAt = performance.now() + timeoutMs;
  for (;;) {
    let failure: unknown = new Error(`nothing of the kind within ${timeoutMs} ms`);
    try {
      const found = await look();
      if (found !== undefined && found !== false) return found as Exclude<T, undefined | false>;
    } catch (error) {
      failure = error;
    }
    if (performance.now() > giveUpAt) throw failure;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}
