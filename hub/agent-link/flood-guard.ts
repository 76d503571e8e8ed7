/** Tells an agent that floods from one that is busy: what comes beyond a pace that no agent needs is counted as a flood. */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';

export interface Rate {
  /** Of messages that no assignment of the hub calls for. */
  readonly messagesPerSecond: number;
  readonly bytesPerSecond: number;
  /** For so many seconds of that pace an agent may be ahead of it, when it has much to tell at once. */
  readonly aheadS: number;
}

/** A hundred instances that all print as fast as they can stay below; and it is less than what the hub can take in, or else
 *  a flood would keep it busy without ever being one. */
const AGENT_PACE: Rate = {
  messagesPerSecond: 4000,
  bytesPerSecond: 64 * 1024 ** 2,
  aheadS: 5,
};

export class FloodGuard {
  readonly #clock: Clock;
  readonly #pace: Rate;
  #atMs: number;
  #messagesAhead = 0;
  #bytesAhead = 0;

  constructor(clock: Clock, pace: Rate = AGENT_PACE) {
    this.#clock = clock;
    this.#pace = pace;
    this.#atMs = clock.monotonicMs();
  }

  /** Counts a frame; says what was too much, if it was. Reports of ends are as many as the hub has given out tasks: only
   *  those that do not count are too much, see {@link uncounted}. */
  faultOf(messages: readonly unknown[], bytes: number): string | undefined {
    let unasked = 0;
    for (const message of messages) if ((message as { type?: unknown } | null)?.type !== 'report') unasked++;
    return this.#faultAfter(unasked, bytes);
  }

  /** Counts a report that did not count. */
  uncounted(): string | undefined {
    return this.#faultAfter(1, 0);
  }

  #faultAfter(messages: number, bytes: number): string | undefined {
    const { messagesPerSecond, bytesPerSecond, aheadS } = this.#pace;
    const nowMs = this.#clock.monotonicMs();
    const passedS = (nowMs - this.#atMs) / 1000;
    this.#atMs = nowMs;
    this.#messagesAhead = Math.max(0, this.#messagesAhead - passedS * messagesPerSecond) + messages;
    this.#bytesAhead = Math.max(0, this.#bytesAhead - passedS * bytesPerSecond) + bytes;
    if (this.#messagesAhead > aheadS * messagesPerSecond) {
      return `a flood: more than ${messagesPerSecond} messages a second`;
    }
    if (this.#bytesAhead > aheadS * bytesPerSecond) {
      return `a flood: more than ${bytesPerSecond / 1024 ** 2} MiB a second`;
    }
    return undefined;
  }
}
