/** Times in which a hub restarts, or cannot be reached. */
import { type Connection, pause } from './connection.js';
import { isCode, OverloadedError, UnreachableError } from './errors.js';

const FIRST_DELAY_MS = 200;
const LONGEST_DELAY_MS = 10_000;

/** Whether a later try may succeed: there is no hub at present, or a proxy answers in its place. */
export function isOutage(error: unknown): boolean {
  // Streams end when their user ends them, not with time.
  if (isCode(error, 'TOO_MANY_STREAMS')) return false;
  return error instanceof UnreachableError || error instanceof OverloadedError;
}

/** Delays of tries, each twice as long as the one before, up to the longest. */
export class Delays {
  readonly #longestMs: number;
  #nextMs = FIRST_DELAY_MS;

  constructor(longestMs = LONGEST_DELAY_MS) {
    this.#longestMs = longestMs;
  }

  /** Begins with the shortest again. */
  reset(): void {
    this.#nextMs = FIRST_DELAY_MS;
  }

  /** Waits for the next delay, or for the least one if that is longer. */
  async pause(signal: AbortSignal | undefined, leastMs = 0): Promise<void> {
    const delayMs = this.#nextMs;
    this.#nextMs = Math.min(2 * delayMs, this.#longestMs);
    await pause(Math.max(delayMs, leastMs), signal);
  }
}

/** Result of a request, which is sent again over outages, however long they are. */
export async function overOutages<Result>(
  connection: Connection,
  request: () => Promise<Result>,
  signal: AbortSignal | undefined,
): Promise<Result> {
  const delays = new Delays();
  for (;;) {
    try {
      return await request();
    } catch (error) {
      signal?.throwIfAborted();
      if (!isOutage(error)) throw error;
      if (error instanceof UnreachableError) connection.tellRetry(error);
    }
    await delays.pause(signal);
  }
}
