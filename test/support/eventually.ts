import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 10;

/** Repeats `look` until it no longer throws, and gives what it gives; fails with its last error when the time is over. */
export async function eventually<T>(look: () => T | Promise<T>, timeoutMs = 10_000): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await look();
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
    await delay(POLL_MS);
  }
}
